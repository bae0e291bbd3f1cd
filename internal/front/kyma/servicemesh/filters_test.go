// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestConfiguresIngress(t *testing.T) {
	cases := map[string]struct {
		filter string
		want   bool
	}{
		"Istio":     {filter: "metadata: {namespace: istio-system}\nspec: {workloadSelector: {labels: {istio: ingressgateway}}}", want: true},
		"App":       {filter: "metadata: {namespace: istio-system}\nspec: {workloadSelector: {labels: {app: istio-ingressgateway, x: z}}}", want: true},
		"Other":     {filter: "metadata: {namespace: istio-system}\nspec: {workloadSelector: {labels: {istio: egressgateway}}}"},
		"All":       {filter: "metadata: {namespace: istio-system}\nspec: {}"},
		"Elsewhere": {filter: "metadata: {namespace: shop}\nspec: {workloadSelector: {labels: {istio: ingressgateway}}}"},
		"Module":    {filter: "metadata: {namespace: istio-system, labels: {kyma-project.io/module: api-gateway}}\nspec: {workloadSelector: {labels: {istio: ingressgateway}}}"},
		"Unnamed":   {filter: "metadata: {namespace: istio-system, labels: {kyma-project.io/module: ''}}\nspec: {workloadSelector: {labels: {istio: ingressgateway}}}"},
		"RateLimit": {filter: "metadata: {namespace: istio-system, ownerReferences: [{apiVersion: a/v1, kind: RateLimit, name: r, uid: u}]}\nspec: {workloadSelector: {labels: {istio: ingressgateway}}}"},
		"Malformed": {filter: "metadata: {namespace: istio-system}\nspec: {workloadSelector: [1]}"},
	}
	for name, tc := range cases {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(tc.filter), &o.Object); err != nil {
			t.Fatal(err)
		}
		if got := ConfiguresIngress(o); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
