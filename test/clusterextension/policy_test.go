// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// may grants rights to a user, whose client it returns.
func may(t *testing.T, user string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user}, Rules: append(rules, rbacv1.PolicyRule{
		APIGroups: []string{olmv1.GroupVersion.Group}, Resources: []string{"clusterextensions"}, Verbs: []string{"get", "create", "update", "patch", "delete"},
	})}
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, object := range []client.Object{role, bound} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	config, err := cluster.ConfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.New(config, client.Options{Scheme: admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestPolicy: who may make and change a ClusterExtension with a ServiceAccount, and without one.
func TestPolicy(t *testing.T) {
	users := map[string]client.Client{
		"editor":       may(t, "editor"),
		"packager":     may(t, "packager", rbacv1.PolicyRule{APIGroups: []string{"strata.run"}, Resources: []string{"packages"}, Verbs: []string{"create"}}),
		"impersonator": may(t, "impersonator", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"installer"}, Verbs: []string{"impersonate"}}),
	}
	extension := func(account string) *olmv1.ClusterExtension {
		ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "guarded"}}
		ce.Spec.Namespace = "default"
		ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "none"}}
		if account != "" {
			ce.Spec.ServiceAccount = &olmv1.ServiceAccountReference{Name: account}
		}
		return ce
	}
	planetest.Eventually(t, "the policy is in force", func() (bool, error) {
		err := users["editor"].Create(t.Context(), extension(""), client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "strata-extensions"), err
	})
	creations := []struct{ user, account, refused string }{
		{"editor", "", "the right to create packages.strata.run, and editor does not have it"},
		{"editor", "installer", "the right to impersonate ServiceAccount default/installer, and editor does not have it"},
		{"packager", "", ""},
		{"packager", "installer", "the right to impersonate"},
		{"impersonator", "", "the right to create packages.strata.run"},
		{"impersonator", "installer", ""},
		{"impersonator", "another", "the right to impersonate ServiceAccount default/another"},
	}
	for _, row := range creations {
		err := users[row.user].Create(t.Context(), extension(row.account), client.DryRunAll)
		if wrong := answered(err, row.refused); wrong != "" {
			t.Errorf("%s creates one with ServiceAccount %q: %s", row.user, row.account, wrong)
		}
	}
	if err := users["impersonator"].Create(t.Context(), extension("installer")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.WithoutCancel(t.Context()), extension("")); err != nil {
			t.Error(err)
		}
	})
	changes := []struct{ user, change, refused string }{
		{"impersonator", `{"spec":{"serviceAccount":null}}`, "the right to create packages.strata.run"},
		{"packager", `{"spec":{"serviceAccount":null}}`, ""},
		{"packager", `{"spec":{"source":{"catalog":{"version":"1.0.0"}}}}`, "the right to impersonate"},
		{"editor", `{"metadata":{"annotations":{"strata.run/custom-resources":"Delete"}}}`, "the right to impersonate"},
		{"editor", `{"metadata":{"labels":{"team":"a"}}}`, ""},
		{"impersonator", `{"spec":{"source":{"catalog":{"version":"1.0.0"}}}}`, ""},
	}
	for _, row := range changes {
		err := users[row.user].Patch(t.Context(), extension(""), client.RawPatch("application/merge-patch+json", []byte(row.change)), client.DryRunAll)
		if wrong := answered(err, row.refused); wrong != "" {
			t.Errorf("%s changes %s: %s", row.user, row.change, wrong)
		}
	}
}

// answered is what is wrong with the answer to a request, empty for nothing.
func answered(err error, refused string) string {
	switch {
	case refused == "" && err != nil:
		return fmt.Sprintf("it is refused: %v", err)
	case refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refused)):
		return fmt.Sprintf("the answer is %v, want a refusal with %q", err, refused)
	}
	return ""
}

// TestLeftovers: the finalizers of OLM's own controllers, which are gone, hold nothing that is deleted.
func TestLeftovers(t *testing.T) {
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "left-over", Finalizers: []string{
		"olm.operatorframework.io/cleanup-unpack-cache", "olm.operatorframework.io/cleanup-contentmanager-cache",
	}}}
	ce.Spec.Namespace = "default"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "none"}}
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "left-over", Finalizers: []string{"olm.operatorframework.io/delete-server-cache"}}}
	cc.Spec.Source = olmv1.CatalogSource{Type: "Image", Image: &olmv1.ImageSource{Ref: "registry.invalid/catalog:v1"}}
	foreign := ce.DeepCopy()
	foreign.Name, foreign.Finalizers = "of-another", append(foreign.Finalizers, "example.org/mine")
	deleted := ce.DeepCopy()
	deleted.Name = "deleted-before"
	for _, object := range []client.Object{ce, cc, foreign, deleted} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+t.TempDir())
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	planetest.Eventually(t, "the extension and the catalog are reconciled", func() (bool, error) {
		if _, err := isTouched(t, ce); err != nil {
			return false, err
		}
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(cc), cc)
		return len(ce.Status.Conditions) > 0 && meta.FindStatusCondition(cc.Status.Conditions, olmv1.TypeServing) != nil, err
	})
	if len(ce.Finalizers) != 3 {
		t.Errorf("the finalizers are %v, and those of OLM stay until the deletion", ce.Finalizers)
	}
	for _, object := range []client.Object{ce, cc, foreign} {
		if err := admin.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range []client.Object{ce, cc, deleted} {
		planetest.Eventually(t, object.GetName()+" is gone", func() (bool, error) {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	planetest.Eventually(t, "the finalizer of another program is the only one left", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)
		return len(foreign.Finalizers) == 1 && foreign.Finalizers[0] == "example.org/mine", err
	})
	if err := admin.Patch(t.Context(), foreign, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
}
