// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// TestAPIServerPorts: the agent reaches the API server where that is, on any cluster.
func TestAPIServerPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		asked  *operatorv1alpha1.NetworkPolicy
		found  []int32
		want   []int32
	}{
		"Found":   {reason: "the cluster says it", found: []int32{443, 8443}, want: []int32{443, 8443}},
		"Asked":   {reason: "the user knows better", asked: &operatorv1alpha1.NetworkPolicy{APIServerPorts: []int32{6444}}, found: []int32{443}, want: []int32{6444}},
		"Unknown": {reason: "one port is usual", want: []int32{6443}},
	} {
		t.Run(name, func(t *testing.T) {
			ic, facts := smallest(), working()
			ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{NetworkPolicy: tc.asked}
			facts.APIServerPorts = tc.found
			p := Render(Input{IstioCSR: ic, Image: image, Facts: facts})
			var manifests []*unstructured.Unstructured
			for _, object := range p.Phases[0].Objects {
				manifests = append(manifests, object.Manifest)
			}
			if got := APIServerPortsIn(manifests); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
			if got := AsksForAPIServerPorts(ic); got != (tc.asked == nil) {
				t.Errorf("%s: they are looked for: %v", tc.reason, got)
			}
		})
	}
	for list, want := range map[*[]any][]int32{
		{map[string]any{"name": "https", "port": int64(6443), "protocol": "TCP"}, map[string]any{"port": int64(443)}, map[string]any{"port": int64(443)}}: {443, 6443},
		{map[string]any{"port": int64(53), "protocol": "UDP"}, map[string]any{"port": int64(70000)}, "x", nil}:                                            nil,
	} {
		if got := PortsOf(&unstructured.Unstructured{Object: map[string]any{"ports": *list}}); !slices.Equal(got, want) {
			t.Errorf("of %s: %v, want %v", fmt.Sprint(*list), got, want)
		}
	}
}
