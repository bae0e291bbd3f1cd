// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// The last resource goes after the sidecars of its mesh, others do not wait for them.
func TestStays(t *testing.T) {
	tests := map[string]struct {
		reason    string
		namespace string
		facts     observed
		want      bool
	}{
		"Restarting":  {reason: "sidecars are left", namespace: v1alpha2.Namespace, want: true},
		"Uninstalled": {reason: "none are, or nothing more is done about them", namespace: v1alpha2.Namespace, facts: observed{Restarts: restarts.State{Uninstalled: true}}},
		"HandedOn":    {reason: "another resource describes the mesh", namespace: v1alpha2.Namespace, facts: observed{Oldest: "other"}},
		"Elsewhere":   {reason: "it never had a mesh", namespace: "default"},
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

// The mesh that runs is the one that was seen when resource, spec and revision are the same.
func TestAwaited(t *testing.T) {
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 3}}
	pkg := &v1alpha1.Package{Status: v1alpha1.PackageStatus{CurrentRevision: 7}}
	packages := []front.Package{{Name: servicemesh.PackageIstio, Package: pkg}}
	tests := map[string]struct {
		seen restarts.Seen
		want bool
	}{
		"Same":       {seen: restarts.Seen{Istio: "a", Generation: 3, Revision: 7}},
		"Never":      {want: true},
		"Resource":   {seen: restarts.Seen{Istio: "b", Generation: 3, Revision: 7}, want: true},
		"Generation": {seen: restarts.Seen{Istio: "a", Generation: 2, Revision: 7}, want: true},
		"Revision":   {seen: restarts.Seen{Istio: "a", Generation: 3, Revision: 6}, want: true},
	}
	for name, tc := range tests {
		if got := awaited(istio, packages, tc.seen); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if awaited(istio, nil, restarts.Seen{}) {
		t.Error("without a package nothing is awaited")
	}
}
