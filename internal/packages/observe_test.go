// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
)

// A revision that a user has made by hand belongs to its package from then on.
func TestWorker_Claims(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.Create(l.written(1, phase(configMap("a", "1"))))
	if result, err := l.pass(); err != nil || result.RequeueAfter != 0 {
		t.Fatalf("error %v, again after %v; the pass that claims goes on with what it has claimed", err, result.RequeueAfter)
	}
	r := l.revision(1)
	if !metav1.IsControlledBy(r, l.pkg()) || r.Labels[v1alpha1.LabelPackage] != "web" {
		t.Errorf("the revision has owners %v and labels %v", r.OwnerReferences, r.Labels)
	}
	want(t, "it is rolled out", "conditions", readyLine, l.conditions())
	if writes, _ := l.since(); strings.Count(strings.Join(writes, ","), "patch web-1") != 1 {
		t.Errorf("it is claimed once, got %v", writes)
	}
}

// A revision that another manager controls is not taken, and the status says so.
func TestWorker_ClaimOfWhatIsForeign(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	r := l.written(1, phase(configMap("a", "1")))
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Other", Name: "x", UID: "other", Controller: new(true)}}
	l.Create(r)
	if _, err := l.pass(); err == nil {
		t.Error("the error was not returned, so no retry would follow")
	}
	if got := l.condition(v1alpha1.ConditionProgressing); !strings.HasPrefix(got, "False/RolloutError: claiming revision web-1: ") {
		t.Errorf("Progressing is %s, want the cause", got)
	}
	want(t, "nothing is rolled out", "objects", nil, l.objects())
}

// The revisions of a package of the same name that is gone go with it, at the garbage
// collector's pace. Until then they are not this one's.
func TestWorker_RevisionsOfAnEarlierPackage(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	old := l.written(3, phase(configMap("old", "1")))
	old.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: "web", UID: "earlier", Controller: new(true)}}
	l.Create(old)
	l.Create(l.written(4, phase(configMap("a", "1"))))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(l.revision(3)); owner == nil || owner.UID != "earlier" {
		t.Errorf("the earlier one's revision has become ours: %v", owner)
	}
	want(t, "what the earlier one had is not rolled out", "objects", []string{"ConfigMap/a=1"}, l.objects())
	want(t, "what is ours is rolled out", "conditions", readyLine, l.conditions())
}

// A package that a user has made by hand gets its finalizer before anything is
// created for it.
func TestWorker_FinalizerFirst(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.change(func(pkg *v1alpha1.Package) { pkg.Finalizers = nil })
	l.revise(1, phase(configMap("a", "1")))
	l.since()
	result, err := l.pass()
	writes, requests := l.since()
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("error %v, again after %v; want the change to bring it back", err, result.RequeueAfter)
	}
	want(t, "the finalizer alone, without a status that would be in conflict with it", "writes", []string{"patch web"}, writes)
	want(t, "nothing is created before", "requests", nil, requests)
	want(t, "the finalizer", "finalizers", []string{v1alpha1.FinalizerTeardown}, l.pkg().Finalizers)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "then it is rolled out", "conditions", readyLine, l.conditions())
}

func TestWorker_NoRevision(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	result, err := l.pass()
	writes, _ := l.since()
	if err != nil || result.RequeueAfter <= 0 || len(writes) > 0 {
		t.Errorf("right after its creation a package is about to get a revision: error %v, again after %v, writes %v", err, result.RequeueAfter, writes)
	}
	l.advance(result.RequeueAfter)
	if result, err = l.pass(); err != nil || result.RequeueAfter != 0 {
		t.Errorf("error %v, again after %v", err, result.RequeueAfter)
	}
	want(t, "a package without a revision says so", "conditions", "Ready=False/NoRevision Progressing=False/NoRevision Available=False/NoRevision", l.conditions())
}

// A cache that lags behind does not bring an archived revision back to life.
func TestWorker_StaleCacheAfterArchiving(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("old", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(configMap("new", "1")))
	list := &v1alpha1.RevisionList{}
	if err := l.API.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	l.stale = list.Items
	for pass := range 5 {
		if _, err := l.pass(); err != nil {
			t.Errorf("pass %d on a stale cache: %v", pass, err)
		}
	}
	want(t, "on a cache that still shows the older revision as active", "objects", []string{"ConfigMap/new=1"}, l.objects())
	l.stale = nil
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "and after it has caught up", "objects", []string{"ConfigMap/new=1"}, l.objects())
	want(t, "and after it has caught up", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
}

// Archiving by hand ends a line; what is still being deleted is checked again
// although no target brings a watch.
func TestWorker_ArchivedByHand(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	l.revise(1, phase(configMap("a", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	r := l.revision(1)
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.advance(time.Minute)
	result, err := l.pass()
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("error %v, again after %v; want another look at what is deleted", err, result.RequeueAfter)
	}
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "what an archived revision contained is gone", "objects", nil, l.objects())
	want(t, "the newest success is kept, whatever the limit", "states", []string{"1: Archived Archived"}, l.states())
	want(t, "the line has no target", "conditions", "Ready=False/NoRevision Progressing=False/NoRevision Available=False/NoRevision", l.conditions())
}

func TestWorker_Prunes(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](2)})
	for number := int64(1); number <= 6; number++ {
		l.revise(number, phase(configMap("a", fmt.Sprint(number))))
		if err := l.settle(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "the limit is kept", "states", []string{"4: Archived Archived", "5: Archived Archived", "6: Active RolledOut"}, l.states())
	if highest := l.pkg().Status.HighestRevision; highest != 6 {
		t.Errorf("the highest number is %d, want 6", highest)
	}
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.RevisionHistoryLimit = ptr.To[int32](0) })
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "a lower limit is kept at once", "states", []string{"6: Active RolledOut"}, l.states())
	want(t, "pruning touches no object", "objects", []string{"ConfigMap/a=6"}, l.objects())
}

// While the target has not succeeded, the last good revision is kept beyond the
// limit, also when it was archived.
func TestWorker_PruneKeepsTheLastGood(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	l.revise(1, phase(configMap("a", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(deployment("gate", "v1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	r := l.revision(1)
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the last good revision stays", "states", []string{"1: Archived Archived", "2: Active RollingOut"}, l.states())
	if current := l.pkg().Status.CurrentRevision; current != 1 {
		t.Errorf("the current revision is %d, want 1", current)
	}
}

// A revision whose package does not exist says so.
func TestWorker_Strays(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	stray := l.written(1, phase(configMap("a", "1")))
	stray.Name, stray.Spec.Package = "other-1", "other"
	l.Create(stray)
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the worker is a %T", l.loop.Worker)
	}
	for range 2 {
		if err := worker.Orphaned(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
	}
	writes, _ := l.since()
	want(t, "it is reported once", "writes", []string{"status other-1 PackageMissing"}, writes)
}
