// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// narrow makes a ServiceAccount that may have ConfigMaps in its namespace, and
// nothing else. It returns the role that gives the right.
func narrow(t *testing.T, ns string, verbs ...string) (*v1alpha1.ServiceAccountReference, *rbacv1.Role) {
	t.Helper()
	must(t, admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}}))
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
	must(t, admin.Create(t.Context(), role))
	must(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "deployer"}},
	}))
	eventuallyMay(t, ns, verbs...)
	return &v1alpha1.ServiceAccountReference{Namespace: ns, Name: "deployer"}, role
}

func allow(t *testing.T, role *rbacv1.Role, verbs ...string) {
	t.Helper()
	role.Rules[0].Verbs = verbs
	must(t, admin.Update(t.Context(), role))
	eventuallyMay(t, role.Namespace, verbs...)
}

// eventuallyMay waits until the API server lets the ServiceAccount do these to ConfigMaps
// and no other of allVerbs: roles are watched, so that it knows of a change a moment later.
func eventuallyMay(t *testing.T, ns string, verbs ...string) {
	t.Helper()
	for _, verb := range allVerbs {
		planetest.Eventually(t, "the right to "+verb+" ConfigMaps to be as its role says", func() (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + ns + ":deployer",
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: verb, Resource: "configmaps"},
			}}
			err := admin.Create(t.Context(), review)
			return err == nil && review.Status.Allowed == slices.Contains(verbs, verb), err
		})
	}
}

var allVerbs = []string{"get", "create", "patch", "delete"}

// TestIdentity: a package is rolled out with the rights of its ServiceAccount, and
// with no others.
func TestIdentity(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	account, _ := narrow(t, ns, allVerbs...)
	since := time.Now()
	pkg := newPackage(t, v1alpha1.PackageSpec{ServiceAccount: account}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)

	newRevision(t, pkg, 3, phase("one", configMapManifest(t, ns, "a", "3"), object(t, fields{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": fields{"namespace": ns, "name": "other"},
	})))
	revision := eventuallyRevision(t, pkg.Name, 3, v1alpha1.ConditionProgressing, v1alpha1.ReasonPermissionDenied)
	if said := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !strings.Contains(said, "serviceaccounts") || !strings.Contains(said, "create") {
		t.Errorf("it says %s; want verb and resource", said)
	}
	if got := configMap(t, ns, "a").Data["value"]; got != "2" {
		t.Errorf("a is %s: content that the identity may not roll out has begun", got)
	}
	if exists(t, &corev1.ServiceAccount{}, ns, "other") {
		t.Error("the identity has made what it has no right to make")
	}
	all := setup.Audit(t, plane)
	impersonated := 0
	for _, e := range all {
		if e.Namespace != ns || e.Resource != "configmaps" || e.Time.Before(since) || e.Verb == "watch" || e.Verb == "list" || e.User != setup.Manager {
			continue
		}
		if e.Impersonated != "system:serviceaccount:"+ns+":deployer" {
			t.Errorf("%s of %s was made with the manager's own rights", e.Verb, e.Name)
		}
		impersonated++
	}
	if impersonated < 4 {
		t.Errorf("%d requests were made as the ServiceAccount, want at least 3 writes and a delete", impersonated)
	}
}

// TestIdentityCannotEscalate: an identity cannot grant what it has not got.
func TestIdentityCannotEscalate(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	account, role := narrow(t, ns, allVerbs...)
	role.Rules[0].APIGroups, role.Rules[0].Resources = []string{"", rbacv1.GroupName}, []string{"configmaps", "roles", "rolebindings"}
	must(t, admin.Update(t.Context(), role))
	pkg := newPackage(t, v1alpha1.PackageSpec{ServiceAccount: account}, phase("one", object(t, fields{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": fields{"namespace": ns, "name": "more"},
		"rules": []any{fields{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}},
	})))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPermissionDenied)
	if exists(t, &rbacv1.Role{}, ns, "more") {
		t.Error("the identity has granted a right that it has not got")
	}
}

// TestIdentityLosesRights: lost rights block that package alone, which goes on when
// they are back, and whose deletion waits for them or for another identity.
func TestIdentityLosesRights(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	account, role := narrow(t, ns, allVerbs...)
	pkg := newPackage(t, v1alpha1.PackageSpec{ServiceAccount: account}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	allow(t, role, "get")
	changed := configMap(t, ns, "a")
	changed.Data["value"] = "drift"
	must(t, admin.Update(t.Context(), changed))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPermissionDenied)
	other := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "of-another", "1")))
	eventuallyRevision(t, other.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	allow(t, role, allVerbs...)
	planetest.Eventually(t, "the drift to be repaired", func() (bool, error) {
		value := configMap(t, ns, "a").Data["value"]
		return value == "1", fmt.Errorf("a is %s", value)
	})
	eventuallyPackage(t, pkg.Name, v1alpha1.ConditionReady, v1alpha1.ReasonReady)

	allow(t, role, "get")
	must(t, admin.Delete(t.Context(), pkg))
	blocked := eventuallyPackage(t, pkg.Name, v1alpha1.ConditionProgressing, v1alpha1.ReasonPermissionDenied)
	if said := message(blocked.Status.Conditions, v1alpha1.ConditionProgressing); !strings.Contains(said, `cannot delete resource "configmaps"`) {
		t.Errorf("it says %s", said)
	}
	if !exists(t, configMapType(), ns, "a") {
		t.Error("the object was deleted with other rights than the package's")
	}
	patchPackage(t, pkg.Name, `{"spec":{"serviceAccount":null}}`)
	planetest.Eventually(t, "the object to be gone", func() (bool, error) { return !exists(t, configMapType(), ns, "a"), nil })
}
