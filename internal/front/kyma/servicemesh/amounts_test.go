// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"errors"
	"testing"
)

// What may use less than it asks for, or have fewer replicas than it has at least, would stop
// a rollout halfway; and such sidecars would keep all pods of the mesh from being made.
func TestRender_Amounts(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		field  string
	}{
		"Defaults": {reason: "they go together", spec: ""},
		"Equal":    {reason: "that is allowed", spec: "components: {proxy: {k8s: {resources: {limits: {cpu: 10m}}}}}"},
		"CPU":      {reason: "less than the default request", spec: "components: {proxy: {k8s: {resources: {limits: {cpu: 5m}}}}}", field: "spec.components.proxy.k8s.resources"},
		"Memory":   {reason: "more than the default limit", spec: "components: {proxy: {k8s: {resources: {requests: {memory: 2Gi}}}}}", field: "spec.components.proxy.k8s.resources"},
		"Both":     {reason: "what is set counts", spec: "components: {proxy: {k8s: {resources: {requests: {memory: 2Gi}, limits: {memory: 2.5Gi}}}}}"},
		"Egress":   {reason: "what is not installed is not looked at", spec: "components: {egressGateway: {enabled: false, k8s: {resources: {limits: {cpu: 5m}}}}}"},
		"EgressOn": {reason: "what is installed is", spec: "components: {egressGateway: {enabled: true, k8s: {resources: {limits: {cpu: 5m}}}}}", field: "spec.components.egressGateway.k8s.resources"},
		"Pilot":    {reason: "istiod would not be rolled out", spec: "components: {pilot: {k8s: {resources: {requests: {memory: 3Gi}}}}}", field: "spec.components.pilot.k8s.resources"},
		"CNI":      {reason: "nor would the node agent", spec: "components: {cni: {k8s: {resources: {limits: {memory: 100Mi}}}}}", field: "spec.components.cni.k8s.resources"},
		"Replicas": {reason: "more than the default at most", spec: "components: {pilot: {k8s: {hpaSpec: {minReplicas: 16}}}}", field: "spec.components.pilot.k8s.hpaSpec"},
		"Bounds":   {reason: "what is set counts", spec: "components: {ingressGateway: {k8s: {hpaSpec: {minReplicas: 5, maxReplicas: 4}}}}", field: "spec.components.ingressGateway.k8s.hpaSpec"},
		"Fixed":    {reason: "one number is fine", spec: "components: {ingressGateway: {k8s: {hpaSpec: {minReplicas: 16, maxReplicas: 16}}}}"},
		"Unscaled": {reason: "with 0 at most the chart has no autoscaler", spec: "components: {ingressGateway: {k8s: {hpaSpec: {maxReplicas: 0}}}}"},
		"NoAmount": {reason: "it could not be used", spec: "components: {proxy: {k8s: {resources: {requests: {memory: much}}}}}", field: "spec.components.proxy.k8s.resources.requests.memory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(input(t, tc.spec))
			got := ""
			if invalid, ok := errors.AsType[*ValidationError](err); ok && invalid.Warn {
				got = invalid.Field
			}
			if got != tc.field || (err != nil) != (tc.field != "") {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
