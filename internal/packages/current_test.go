// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// ahead is an API server whose packages are newer than those in the cache.
type ahead struct {
	client.Reader

	by int64
}

// Get implements client.Reader.
func (a *ahead) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := a.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if pkg, ok := object.(*v1alpha1.Package); ok {
		pkg.Generation += a.by
	}
	return nil
}

// TestWorker_StalePackage: the cache may know a revision before the approval that its
// package has asked for. Nothing of it is written before the package is proven current.
func TestWorker_StalePackage(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	server := &ahead{Reader: worker.Live, by: 1}
	worker.Live = server
	l.deliver(phase(configMap("a", "1")))
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatalf("a package that has changed is no error: %v", err)
		}
	}
	want(t, "nothing is written for a package that has changed meanwhile", "objects", []string(nil), l.objects())
	server.by = 0
	l.mustSettle(10 * time.Second)
	want(t, "and all of it when the cache has caught up", "objects", []string{"ConfigMap/a=1"}, l.objects())
}

// TestWorker_ListsOfThePast: a manager that has just begun to lead may know revisions as
// they were before an upgrade, beside objects as they are. It writes no object before a
// live read has shown it the upgrade.
func TestWorker_ListsOfThePast(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), configMap("gone", "1")))
	l.mustSettle(10 * time.Second)
	past := []v1alpha1.Revision{*l.revision(1)}
	l.deliver(phase(configMap("a", "2")))
	l.mustSettle(10 * time.Second)
	l.restart()
	l.since()
	l.stale = past
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatalf("revisions that have changed are no error: %v", err)
		}
	}
	want(t, "nothing is written by what was wanted once", "objects", []string{"ConfigMap/a=2"}, l.objects())
	l.stale = nil
	l.mustSettle(10 * time.Second)
	want(t, "and nothing has to be when the cache has caught up", "objects", []string{"ConfigMap/a=2"}, l.objects())
}

// TestWorker_RecreatesOnProof: an object that was put in place and is gone may have been
// taken away by a manager that has gone further.
func TestWorker_RecreatesOnProof(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), configMap("gone", "1")))
	l.mustSettle(10 * time.Second)
	l.stale = []v1alpha1.Revision{*l.revision(1)}
	l.deliver(phase(configMap("a", "1")))
	if err := l.cluster.Client("other-manager").Delete(t.Context(), unstructuredOf(configMap("gone", "1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := l.pass(); err != nil {
		t.Fatalf("revisions that have changed are no error: %v", err)
	}
	want(t, "what a newer revision may have taken away stays away", "objects", []string{"ConfigMap/a=1"}, l.objects())
	l.stale = nil
	l.mustSettle(10 * time.Second)
	want(t, "and the newer revision is rolled out", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
}

// TestWorker_OrphansOnProof: the garbage collector takes the owner references off the objects
// of a package that is deleted with --cascade=orphan, which the cache may know before it knows
// of the deletion. An object that got its reference back then would go with the package.
func TestWorker_OrphansOnProof(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	server := &ahead{Reader: worker.Live}
	worker.Live = server
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	server.by = 1
	object := unstructuredOf(configMap("a", "1"))
	collector := l.cluster.Client("kube-controller-manager")
	orphan := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
	if err := collector.Patch(t.Context(), object, orphan); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatalf("a package that has changed is no error: %v", err)
		}
	}
	owners := func() int {
		if err := collector.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		return len(object.GetOwnerReferences())
	}
	want(t, "a package that has changed meanwhile takes nothing back", "owners", 0, owners())
	server.by = 0
	l.mustSettle(10 * time.Second)
	want(t, "and a package that has not does", "owners", 1, owners())
}
