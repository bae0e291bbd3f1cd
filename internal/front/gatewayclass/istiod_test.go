// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

func TestStartOf(t *testing.T) {
	deployment := func(generation, observed int64, available string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": generation},
			"status": map[string]any{"observedGeneration": observed, "conditions": []any{
				map[string]any{"type": "Progressing", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
				map[string]any{"type": "Available", "status": available, "lastTransitionTime": "2026-07-01T12:00:00Z"},
			}},
		}}
	}
	cases := map[string]struct {
		reason     string
		deployment *unstructured.Unstructured
		want       string
	}{
		"Available":  {reason: "the generation, and since when it is available", deployment: deployment(3, 3, "True"), want: "3-1782907200"},
		"NotYet":     {reason: "istiod is not there", deployment: deployment(3, 3, "False")},
		"Behind":     {reason: "what is available is of before", deployment: deployment(4, 3, "True")},
		"NoStatus":   {reason: "nothing is known", deployment: &unstructured.Unstructured{Object: map[string]any{}}},
		"Unreadable": {reason: "a status that is none", deployment: &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{"x"}}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := startOf(tc.deployment); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// How the packages go depends on why.
func TestTeardown(t *testing.T) {
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	ofOLM := Ownership{Scenario: ScenarioManagedByOLM}
	cases := map[string]struct {
		reason  string
		staying []*gatewayv1.GatewayClass
		facts   observed
		orphans []string
	}{
		"LastClass": {reason: "the control plane goes with the last class", facts: observed{Ownership: ofOLM}},
		"CRDsOfOLM": {reason: "the CRDs are OLM's now, and stay; a canary goes with all that is its own", staying: []*gatewayv1.GatewayClass{class}, facts: observed{Ownership: ofOLM},
			orphans: []string{PackageCRDs}},
		"HandedOver": {reason: "everything stays for the other operator", staying: []*gatewayv1.GatewayClass{class}, facts: observed{Ownership: Ownership{Scenario: ScenarioManagedByCIO}, HandedOver: "x"},
			orphans: []string{PackageCanary, PackageControlPlane, PackageCRDs}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := front.Input[*gatewayv1.GatewayClass, observed]{Facts: tc.facts}
			in.Resources = tc.staying
			if got := teardown(in); !slices.Equal(got.Orphans, tc.orphans) || got.Blocked != nil {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}
