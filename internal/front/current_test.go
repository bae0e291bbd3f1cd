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

// A cache that lags behind makes nothing twice.
func TestReconciler_CacheBehind(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	before := f.installed("a")
	f.behind = true
	result, err := f.pass()
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("error %v, again after %v; what exists already is no error", err, result.RequeueAfter)
	}
	want(t, "nothing is made twice", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "nothing is reported of it", "ControllerInstalled", before, f.installed("a"))
	f.behind = false
	f.rendered = []content.Package{rendering("plane", "2")}
	f.Writes = nil
	want(t, "it goes on when the cache has caught up", "writes", []string{"create plane-2", "status a"}, f.mustPass())
}

// A pass never works on a class older than its own writes.
func TestReconciler_ReadsItsOwnWrites(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	list := &gatewayv1.GatewayClassList{}
	if err := f.API.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	f.stale = list.Items
	f.rendered = []content.Package{rendering("plane", "1")}
	want(t, "the first pass", "writes", []string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	want(t, "a stale cache makes no difference", "writes", nil, f.mustPass())
	f.rolledOut("plane", 1)
	want(t, "a stale cache makes no difference", "writes", []string{"status a"}, f.mustPass())
}

// Of two writers of the same number one wins, and the other looks again.
func TestReconciler_NumberTaken(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.Create(&v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "plane-1"}, Spec: v1alpha1.RevisionSpec{Package: "plane", Revision: 1}})
	f.rendered = []content.Package{rendering("plane", "1")}
	var waits []time.Duration
	for range 3 {
		result, err := f.pass()
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, result.RequeueAfter)
	}
	if waits[0] <= 0 || waits[2] <= waits[0] {
		t.Errorf("waits %v, want them to grow", waits)
	}
	want(t, "the other's revision stays", "revisions", []string{"plane-1"}, f.revisions())

	taken := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, taken); err != nil {
		t.Fatal(err)
	}
	taken.Labels = map[string]string{v1alpha1.LabelPackage: "plane"}
	if err := f.API.Update(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "the next number is taken when it is seen", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

// A package that is made anew does not take the revisions of the one before for its own,
// even if they have just the content that it wants; their numbers are not used again.
func TestReconciler_MadeAnew(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	old := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, old); err != nil {
		t.Fatal(err)
	}
	old.OwnerReferences[0].UID = "earlier"
	if err := f.API.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "the content is made once more, for the new package", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

func TestReconciler_ForeignPackage(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "plane", Labels: map[string]string{v1alpha1.LabelFront: "other"}}})
	f.rendered = []content.Package{rendering("plane", "1"), rendering("second", "1")}
	if _, err := f.pass(); err == nil {
		t.Error("the error was not returned, so no retry would follow")
	}
	want(t, "nothing is made for another owner's package, and the others are made", "revisions", []string{"second-1"}, f.revisions())
	want(t, "the cause is reported", "ControllerInstalled",
		`False/InstallFailed: package plane exists and is not of front test (its label strata.run/front is "other"): delete or rename it`, f.installed("a"))
}
