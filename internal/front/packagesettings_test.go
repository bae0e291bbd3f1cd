// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// A front keeps its settings of a package current, and leaves all else to admins.
func TestReconciler_Settings(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	plane := rendering("plane", "1")
	plane.Settings = &content.Settings{
		ServiceAccount:   &v1alpha1.ServiceAccountReference{Namespace: "app", Name: "installer"},
		ProgressDeadline: 30 * time.Minute, AllowUnsafeCRDs: true, OnFailure: v1alpha1.FailureRollback, PauseReason: "freeze",
	}
	f.rendered = []content.Package{plane}
	want(t, "they are there from the start", "writes", []string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	pkg := f.pkg("plane")
	want(t, "as they were asked for", "serviceAccount", plane.Settings.ServiceAccount, pkg.Spec.ServiceAccount)
	want(t, "as they were asked for", "progressDeadline", 30*time.Minute, pkg.Spec.ProgressDeadline.Duration)
	want(t, "as they were asked for", "onFailure", v1alpha1.FailureRollback, pkg.Spec.OnFailure)
	want(t, "as they were asked for", "annotation", "None", pkg.Annotations[v1alpha1.AnnotationCRDUpgradeSafety])
	want(t, "as they were asked for", "paused", &v1alpha1.Pause{Reason: "freeze"}, pkg.Spec.Paused)

	limit := int32(2)
	pkg.Spec.ServiceAccount.Name, pkg.Spec.RevisionHistoryLimit, pkg.Spec.Approval = "other", &limit, v1alpha1.ApprovalManual
	pkg.Annotations["example.com/note"] = "kept"
	f.must(f.API.Update(t.Context(), pkg))
	f.mustPass()
	pkg = f.pkg("plane")
	want(t, "what is changed comes back", "serviceAccount", "installer", pkg.Spec.ServiceAccount.Name)
	want(t, "what is an admin's stays", "approval", v1alpha1.ApprovalManual, pkg.Spec.Approval)
	want(t, "what is an admin's stays", "limit", limit, *pkg.Spec.RevisionHistoryLimit)
	want(t, "what is an admin's stays", "annotation", "kept", pkg.Annotations["example.com/note"])
	want(t, "there is nothing to write at rest", "writes", nil, f.mustPass())

	plane.Settings = &content.Settings{}
	f.rendered = []content.Package{plane}
	f.mustPass()
	pkg = f.pkg("plane")
	want(t, "what is not asked for any more goes", "serviceAccount", (*v1alpha1.ServiceAccountReference)(nil), pkg.Spec.ServiceAccount)
	want(t, "what is not asked for any more goes", "progressDeadline", 10*time.Minute, pkg.Spec.ProgressDeadline.Duration)
	want(t, "what is not asked for any more goes", "annotation", "", pkg.Annotations[v1alpha1.AnnotationCRDUpgradeSafety])
	want(t, "the pause was the front's", "paused", (*v1alpha1.Pause)(nil), pkg.Spec.Paused)
	want(t, "there is nothing to write at rest", "writes", nil, f.mustPass())

	pkg.Spec.Paused = &v1alpha1.Pause{By: "ann", Reason: "mine"}
	f.must(f.API.Update(t.Context(), pkg))
	want(t, "a pause of an admin stays", "writes", nil, f.mustPass())
}

// Settings are kept, too, while a package gets no new content.
func TestReconciler_SettingsOfHeld(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	plane := rendering("plane", "1")
	f.rendered = []content.Package{plane}
	f.mustPass()
	plane.Blocked, plane.Settings = "the registry is down", &content.Settings{ProgressDeadline: time.Hour}
	f.rendered = []content.Package{plane}
	f.mustPass()
	want(t, "the deadline is new", "progressDeadline", time.Hour, f.pkg("plane").Spec.ProgressDeadline.Duration)
	want(t, "nothing else is", "revisions", []string{"plane-1"}, f.revisions())
}

// The same objects with another identity are other content; another annotation is not.
func TestReconciler_Identity(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	plane := rendering("plane", "1")
	plane.Origin.Identity = "p/p.v1/1.0.0"
	plane.Labels, plane.Annotations = map[string]string{"example.com/owner": "a"}, map[string]string{"example.com/image": "one"}
	f.rendered = []content.Package{plane}
	f.mustPass()
	revision := func(name string) *v1alpha1.Revision {
		r := &v1alpha1.Revision{}
		f.must(f.API.Get(t.Context(), types.NamespacedName{Name: name}, r))
		return r
	}
	first := revision("plane-1")
	want(t, "the revision says what it is", "label", "a", first.Labels["example.com/owner"])
	want(t, "the revision says what it is", "annotation", "one", first.Annotations["example.com/image"])
	named := first.Spec.ContentDigest
	first.Spec.ContentDigest = ""
	computed, err := content.DigestOf(t.Context(), f.loop.Publisher.Contents, first)
	f.must(err)
	want(t, "a reader of the revision computes the same digest", "digest", named, computed)

	plane.Annotations = map[string]string{"example.com/image": "two"}
	f.rendered = []content.Package{plane}
	f.mustPass()
	want(t, "another image reference is no other content", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "and is written down", "annotation", "two", revision("plane-1").Annotations["example.com/image"])
	want(t, "once", "writes", nil, f.mustPass())

	plane.Origin.Identity = "p/p.v2/2.0.0"
	f.rendered = []content.Package{plane}
	f.mustPass()
	want(t, "another identity is other content", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
	want(t, "with the same objects", "phases", first.Spec.Phases, revision("plane-2").Spec.Phases)
}

// A signal about one resource wakes its group; one about none wakes all.
func TestReconciler_Signalled(t *testing.T) {
	f := newFixture(t)
	f.ownGroups()
	f.loop.isServed = func() bool { return true }
	f.class("a", ours)
	f.class("b", ours)
	named := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	want(t, "one", "groups", []string{"group/b"}, f.loop.signalled(t.Context(), named))
	want(t, "all", "groups", []string{"group/a", "group/b"}, f.loop.signalled(t.Context(), &gatewayv1.GatewayClass{}))

	signal := NewSignal()
	go func() {
		for _, name := range []string{"a", "b", "c"} {
			signal.RaiseFor(t.Context(), &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		want(t, "none is lost", "object", name, (<-signal).Object.GetName())
	}
}

func (f *fixture) must(err error) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
}
