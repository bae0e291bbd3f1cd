// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// What the API server refuses, and what it lets through, without a default of its own.
func TestAPI(t *testing.T) {
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: kyma-system}}")
	cases := map[string]struct {
		spec  string
		names string
	}{
		"Empty":              {spec: "{}"},
		"TrustedProxiesLow":  {spec: "config: {numTrustedProxies: -1}", names: "numTrustedProxies"},
		"TrustedProxiesHigh": {spec: "config: {numTrustedProxies: 4294967296}", names: "numTrustedProxies"},
		"TrustedProxiesMost": {spec: "config: {numTrustedProxies: 4294967295}"},
		"ClientCert":         {spec: "config: {forwardClientCertDetails: SOMETIMES}", names: "forwardClientCertDetails"},
		"TrafficPolicy":      {spec: "config: {gatewayExternalTrafficPolicy: local}", names: "gatewayExternalTrafficPolicy"},
		"TrustDomainEmpty":   {spec: `config: {trustDomain: ""}`, names: "trustDomain"},
		"TrustDomainLong":    {spec: "config: {trustDomain: " + strings.Repeat("a", 256) + "}", names: "trustDomain"},
		"TrustDomainUpper":   {spec: "config: {trustDomain: Cluster.local}", names: "trustDomain"},
		"TrustDomainFine":    {spec: "config: {trustDomain: a_b-c.example.com}"},
		"NoAuthorizerName":   {spec: "config: {authorizers: [{port: 1}]}", names: "name"},
		"NoAuthorizerPort":   {spec: "config: {authorizers: [{name: a}]}", names: "port"},
		"NoAuthorizerHost":   {spec: "config: {authorizers: [{name: a, port: 1}]}"},
		"NoK8s":              {spec: "components: {pilot: {}}", names: "k8s"},
		"EgressWithoutK8s":   {spec: "components: {egressGateway: {enabled: true}}"},
		"Replicas":           {spec: "components: {pilot: {k8s: {hpaSpec: {minReplicas: -1}}}}", names: "minReplicas"},
		"NoRollingUpdate":    {spec: "components: {pilot: {k8s: {strategy: {}}}}", names: "rollingUpdate"},
		"SurgePercent":       {spec: "components: {pilot: {k8s: {strategy: {rollingUpdate: {maxSurge: 50%, maxUnavailable: 100%}}}}}"},
		"SurgeText":          {spec: "components: {pilot: {k8s: {strategy: {rollingUpdate: {maxSurge: half}}}}}", names: "maxSurge"},
		"SurgeNegative":      {spec: "components: {pilot: {k8s: {strategy: {rollingUpdate: {maxSurge: -1}}}}}", names: "maxSurge"},
		"UnavailableTooMuch": {spec: "components: {pilot: {k8s: {strategy: {rollingUpdate: {maxUnavailable: 101%}}}}}", names: "maxUnavailable"},
		"CPU":                {spec: "components: {proxy: {k8s: {resources: {limits: {cpu: 1.5}}}}}", names: "cpu"},
		"CPUText":            {spec: `components: {proxy: {k8s: {resources: {limits: {cpu: "0.5"}}}}}`},
		"CPUUnit":            {spec: "components: {proxy: {k8s: {resources: {limits: {cpu: 1k}}}}}", names: "cpu"},
		"Memory":             {spec: "components: {proxy: {k8s: {resources: {limits: {memory: 1Gb}}}}}", names: "memory"},
		"MemoryExponent":     {spec: "components: {proxy: {k8s: {resources: {limits: {memory: 1e9}}}}}", names: "memory"},
		"Affinity":           {spec: "components: {cni: {k8s: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}}}}"},
		"Duration":           {spec: "config: {authorizers: [{name: a, port: 1, timeout: 500ms}]}"},
		"Experimental":       {spec: "experimental: {pilot: {enableAlphaGatewayAPI: true}, enableAmbient: true}"},
	}
	for _, version := range []string{"v1alpha2", "v1alpha1"} {
		for name, tc := range cases {
			t.Run(version+"/"+name, func(t *testing.T) {
				o := &unstructured.Unstructured{Object: map[string]any{}}
				if err := yaml.Unmarshal([]byte(tc.spec), &o.Object); err != nil {
					t.Fatal(err)
				}
				o.Object = map[string]any{
					"apiVersion": "operator.kyma-project.io/" + version, "kind": "Istio",
					"metadata": map[string]any{"name": "input", "namespace": "kyma-system"}, "spec": o.Object,
				}
				err := admin.Create(t.Context(), o, client.DryRunAll)
				switch {
				case tc.names == "" && err != nil:
					t.Errorf("refused: %v", err)
				case tc.names != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.names)):
					t.Errorf("got %v, want a refusal that names %s", err, tc.names)
				}
			})
		}
	}
}
