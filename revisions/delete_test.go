// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAggregates tells an APIService behind which another server stands from those
// that the API server makes for itself.
func TestAggregates(t *testing.T) {
	service := func(spec content) *unstructured.Unstructured {
		return with(manifest("apiregistration.k8s.io/v1", "APIService", "", "v1.metrics.example.org", nil), "spec", spec)
	}
	cases := map[string]struct {
		reason  string
		service *unstructured.Unstructured
		want    bool
	}{
		"Aggregated": {
			reason:  "another server serves the group, and may be down",
			service: service(content{"group": "metrics.example.org", "service": content{"name": "metrics"}}), want: true,
		},
		"Local": {
			reason:  "the API server itself serves what it knows",
			service: service(content{"group": "metrics.example.org"}),
		},
		"LocalNull": {
			reason:  "which is also written as null",
			service: service(content{"group": "metrics.example.org", "service": nil}),
		},
		"OtherGroup": {
			reason:  "another group says nothing about ours",
			service: service(content{"group": "example.org", "service": content{"name": "metrics"}}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := aggregates(tc.service, "metrics.example.org"); got != tc.want {
				t.Errorf("aggregates() = %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}
