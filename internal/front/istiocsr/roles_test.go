// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestObserver_ClusterRoles: what the agent of before has in the cluster is found by all of
// its labels until there is a revision, whatever the status says.
func TestObserver_ClusterRoles(t *testing.T) {
	role := func(name, namespace string, change func(role *rbacv1.ClusterRole)) client.Object {
		labels := maps.Clone(ClusterLabels(namespace))
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
		made   bool
		want   []string
	}{
		"None":    {reason: "there is nothing"},
		"One":     {reason: "it is the agent's", there: []client.Object{role("cert-manager-istio-csr-x7", "a", nil), role("cert-manager-istio-csr-b", "b", nil)}, want: []string{"cert-manager-istio-csr-x7"}},
		"Several": {reason: "it cannot be said which is", there: []client.Object{role("cert-manager-istio-csr-y8", "a", nil), role("cert-manager-istio-csr-x7", "a", nil)}, want: []string{"cert-manager-istio-csr-x7", "cert-manager-istio-csr-y8"}},
		"Going":   {reason: "it is as if it were gone", there: []client.Object{role("cert-manager-istio-csr-x7", "a", going)}},
		"Foreign": {reason: "one label is not enough", there: []client.Object{role("cert-manager-istio-csr-x7", "a", foreign)}},
		"Named":   {reason: "anyone may have written the status", there: []client.Object{role("cert-manager-istio-csr-x7", "a", nil)}, named: "cert-manager-istio-csr-z9", want: []string{"cert-manager-istio-csr-x7"}},
		"Made":    {reason: "the revision tells", there: []client.Object{role("cert-manager-istio-csr-x7", "a", nil)}, named: "cert-manager-istio-csr-z9", made: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newCluster(t, &fakeKeeper{}, nil)
			o.live = fake.NewClientBuilder().WithObjects(tc.there...).Build()
			ic, facts := csrIn("a", false), observed{}
			ic.Status.ClusterRole, ic.Status.ClusterRoleBinding = tc.named, tc.named
			group := csrGroup{}
			if tc.made {
				group.Existing = packagesOf("a")
				group.Existing[0].UID = "u"
				revision := revisionWith(t, 1, "u", deploymentWith(1, nil))
				for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
					manifest := `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "` + kind + `", "metadata": {"name": "cert-manager-istio-csr-own"}}`
					revision.Spec.Phases[0].Objects = append(revision.Spec.Phases[0].Objects, v1alpha1.Object{Object: &runtime.RawExtension{Raw: []byte(manifest)}})
				}
				if err := o.cache.(client.Client).Create(t.Context(), revision); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.observeClusterRoles(t.Context(), ic, group, &facts); err != nil {
				t.Fatal(err)
			}
			if own := "cert-manager-istio-csr-own"; (facts.ClusterRole == own && facts.ClusterRoleBinding == own) != tc.made {
				t.Errorf("%s: the revision has %q and %q", tc.reason, facts.ClusterRole, facts.ClusterRoleBinding)
			}
			if diff := cmp.Diff(tc.want, facts.ClusterRoles); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
