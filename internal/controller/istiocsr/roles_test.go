// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/internal/render/istiocsr"
)

// TestObserver_ClusterRoles: what the agent of before has in the cluster is found by all of
// its labels, until the status names it.
func TestObserver_ClusterRoles(t *testing.T) {
	role := func(name, namespace string, change func(role *rbacv1.ClusterRole)) client.Object {
		labels := maps.Clone(istiocsr.ClusterLabels(namespace))
		labels["app.kubernetes.io/version"] = "v0.14.2"
		made := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if change != nil {
			change(made)
		}
		return made
	}
	going := func(role *rbacv1.ClusterRole) {
		role.DeletionTimestamp, role.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"a/b"}
	}
	foreign := func(role *rbacv1.ClusterRole) { role.Labels["app.kubernetes.io/managed-by"] = "Helm" }
	for name, tc := range map[string]struct {
		reason string
		there  []client.Object
		named  string
		want   []string
	}{
		"None":    {reason: "there is nothing"},
		"One":     {reason: "it is the agent's", there: []client.Object{role("cert-manager-istio-csr-x7", "a", nil), role("cert-manager-istio-csr-b", "b", nil)}, want: []string{"cert-manager-istio-csr-x7"}},
		"Several": {reason: "it cannot be said which is", there: []client.Object{role("cert-manager-istio-csr-y8", "a", nil), role("cert-manager-istio-csr-x7", "a", nil)}, want: []string{"cert-manager-istio-csr-x7", "cert-manager-istio-csr-y8"}},
		"Going":   {reason: "it is as if it were gone", there: []client.Object{role("cert-manager-istio-csr-x7", "a", going)}},
		"Foreign": {reason: "one label is not enough", there: []client.Object{role("cert-manager-istio-csr-x7", "a", foreign)}},
		"Named":   {reason: "the status tells", there: []client.Object{role("cert-manager-istio-csr-x7", "a", nil)}, named: "cert-manager-istio-csr-z9"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newCluster(t, &fakeKeeper{}, nil)
			o.live = fake.NewClientBuilder().WithObjects(tc.there...).Build()
			ic, facts := csrIn("a", false), observed{}
			ic.Status.ClusterRole, ic.Status.ClusterRoleBinding = tc.named, tc.named
			if err := o.observeClusterRoles(t.Context(), ic, &facts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, facts.ClusterRoles); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
