// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/restart"
)

// The last resource goes after the sidecars of its mesh, others do not wait for them.
func TestStays(t *testing.T) {
	tests := map[string]struct {
		reason    string
		namespace string
		facts     observed
		want      bool
	}{
		"Restarting": {reason: "sidecars are left", namespace: v1alpha2.Namespace, want: true},
		"Departed":   {reason: "none are, or nothing more is done about them", namespace: v1alpha2.Namespace, facts: observed{Restarts: restart.State{Departed: true}}},
		"HandedOn":   {reason: "another resource describes the mesh", namespace: v1alpha2.Namespace, facts: observed{Oldest: "other"}},
		"Elsewhere":  {reason: "it never had a mesh", namespace: "default"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: "default"}}
			if err := stays(istio, tc.facts); (err != nil) != tc.want {
				t.Errorf("%s: what keeps it is %v", tc.reason, err)
			}
		})
	}
}
