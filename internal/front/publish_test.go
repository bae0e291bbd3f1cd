// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

func want[V any](t *testing.T, reason, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", reason, what, diff)
	}
}

func TestReconciler_Publishes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("theirs", "example.com/theirs")
	f.rendered = []content.Package{rendering("plane", "1")}
	want(t, "the class gets its finalizer before anything is made for it, and then a status", "writes",
		[]string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	want(t, "only our classes are held", "classes", []string{"a!", "theirs"}, f.classes())
	want(t, "the status is about what was made", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("a"))
	want(t, "classes of other controllers are not touched", "ControllerInstalled", "", f.installed("theirs"))

	pkg := f.pkg("plane")
	if pkg.Labels[v1alpha1.LabelFront] != "test" || len(pkg.Finalizers) != 1 || pkg.Finalizers[0] != v1alpha1.FinalizerTeardown {
		t.Errorf("the package has labels %v and finalizers %v", pkg.Labels, pkg.Finalizers)
	}
	revision := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(revision, pkg) || revision.Spec.ContentDigest == "" || revision.Spec.Origin.AppVersion != "1.0-1" {
		t.Errorf("the revision is %+v of %v", revision.Spec, revision.OwnerReferences)
	}

	want(t, "the same content makes nothing, and an equal status is not written", "writes", nil, f.mustPass())
	f.rolledOut("plane", 1)
	want(t, "the status follows the package", "writes", []string{"status a"}, f.mustPass())
	want(t, "the status follows the package", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed", f.installed("a"))

	f.rendered = []content.Package{rendering("plane", "2")}
	want(t, "new content makes the next revision", "writes", []string{"create plane-2"}, f.mustPass())
	want(t, "the front gets the packages that exist", "packages", []string{"plane"}, f.existing)
}

// Content that a rollback has rejected is not made again.
func TestReconciler_RolledBack(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.rolledOut("plane", 1)
	packed, err := content.Pack(rendering("plane", "2").Phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.changeStatus("plane", func(s *v1alpha1.PackageStatus) {
		s.Rollback = &v1alpha1.RollbackStatus{RequestedAt: metav1.NewTime(f.Now), FromRevision: 9, ToRevision: 8, Revision: 1, RejectedDigest: packed.Digest}
	})
	f.rendered = []content.Package{rendering("plane", "2")}
	f.mustPass()
	want(t, "rejected content does not come again", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "and that is reported", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed (with warning: a rollback excludes the newest content of package plane: change the resource first)", f.installed("a"))
	f.rendered = []content.Package{rendering("plane", "3")}
	f.mustPass()
	want(t, "other content comes through", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

// Content that was rolled back, and is asked for again after something else was, is made:
// also when what was asked for meanwhile is what the rollback had brought back.
func TestReconciler_AskedForAgain(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	for _, value := range []string{"1", "2"} {
		f.rendered = []content.Package{rendering("plane", value)}
		f.mustPass()
	}
	first := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, first); err != nil {
		t.Fatal(err)
	}
	back := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "plane-3", Labels: first.Labels, OwnerReferences: first.OwnerReferences}, Spec: *first.Spec.DeepCopy()}
	back.Spec.Revision, back.Spec.Previous = 3, 2
	back.Spec.Origin = &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/plane-1"}
	f.Create(back)
	f.rolledOut("plane", 3)
	f.mustPass()
	want(t, "it is kept out while nothing else was asked for", "revisions", []string{"plane-1", "plane-2", "plane-3"}, f.revisions())
	if reported := f.installed("a"); !strings.Contains(reported, "revision 3 of package plane has rejected that of revision 2") || !strings.Contains(reported, "strata rollback plane --to 2") {
		t.Errorf("neither the rejected revision nor the way out is in the message: %s", reported)
	}
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	want(t, "that is noted once", "writes", nil, f.mustPass())
	f.rendered = []content.Package{rendering("plane", "2")}
	f.mustPass()
	want(t, "then it is made", "revisions", []string{"plane-1", "plane-2", "plane-3", "plane-4"}, f.revisions())
}
