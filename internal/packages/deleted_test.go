// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
)

// discard deletes a revision as a user does.
func (l *line) discard(number int64) {
	l.T.Helper()
	if err := l.API.Delete(l.T.Context(), l.revision(number)); err != nil {
		l.T.Fatal(err)
	}
}

// A revision that is deleted in the middle of a line leaves nothing behind.
func TestWorker_DiscardMiddle(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2"), configMap("only-2", "x")), phase(deployment("gate", "v2")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "3")), phase(deployment("gate", "v3")))
	l.mustSettle(10 * time.Second)
	l.discard(2)
	l.mustSettle(10 * time.Second)
	want(t, "what only it contained is gone, and what others contain stays", "objects", []string{"ConfigMap/a=3", "Deployment/gate=v3"}, l.objects())
	want(t, "and so is it", "states", []string{"1: Active RolledOut", "3: Active RollingOut"}, l.states())
	l.ready("gate", true)
	l.mustSettle(10 * time.Second)
	want(t, "the line goes on", "conditions", readyLine, l.conditions())
}

// Deleting what is being rolled out gives it up: the current revision is what is
// wanted again.
func TestWorker_DiscardTarget(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2"), configMap("only-2", "x")), phase(deployment("gate", "v2")))
	l.mustSettle(10 * time.Second)
	l.discard(2)
	l.mustSettle(10 * time.Second)
	want(t, "nothing of it is left", "objects", []string{"ConfigMap/a=1"}, l.objects())
	want(t, "the current revision is the target", "states", []string{"1: Active RolledOut"}, l.states())
	want(t, "the package is ready", "conditions", readyLine, l.conditions())
	if next := l.deliver(phase(configMap("a", "3"))); next.Spec.Revision != 3 {
		t.Errorf("the next revision is %d: the number of the one that was deleted is given again", next.Spec.Revision)
	}
}

// What runs is not taken away for a deleted record: it stays until another revision
// has taken over.
func TestWorker_DiscardCurrent(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), configMap("b", "1")))
	l.mustSettle(10 * time.Second)
	l.discard(1)
	l.restart()
	l.mustSettle(10 * time.Second)
	want(t, "it still runs", "objects", []string{"ConfigMap/a=1", "ConfigMap/b=1"}, l.objects())
	want(t, "and is kept", "conditions", readyLine, l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "it was deleted, and is kept until another revision has taken over") {
		t.Errorf("why it is still there is not reported: %s", message)
	}
	l.since()
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	want(t, "with another one it is gone, and what only it contained", "states", []string{"2: Active RolledOut"}, l.states())
	want(t, "with another one it is gone, and what only it contained", "objects", []string{"ConfigMap/a=1"}, l.objects())
	_, requests := l.since()
	for _, request := range requests {
		if strings.Contains(request, "app/a") && !strings.HasPrefix(request, "get") {
			t.Errorf("what both contain was touched: %s", request)
		}
	}
}

// History that a user deletes is gone, while a package is paused as well; what is
// still on the cluster is not taken away then.
func TestWorker_DiscardWhilePaused(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](5)})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("only-3", "x")), phase(deployment("gate", "v2")))
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = &v1alpha1.Pause{Reason: "incident"} })
	l.discard(1)
	l.discard(3)
	l.mustSettle(10 * time.Second)
	want(t, "history goes, what stands waits", "states", []string{"2: Active RolledOut", "3: Active Paused"}, l.states())
	want(t, "nothing is deleted while paused", "objects", []string{"ConfigMap/a=2", "ConfigMap/only-3=x", "Deployment/gate=v2"}, l.objects())
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = nil })
	l.mustSettle(10 * time.Second)
	want(t, "afterwards it goes", "states", []string{"2: Active RolledOut"}, l.states())
	want(t, "afterwards it goes", "objects", []string{"ConfigMap/a=2"}, l.objects())
}

// Revisions do not hold up the deletion of their package, in whatever way it is
// deleted, nor that of what they were left behind by.
func TestWorker_DiscardAll(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	for _, value := range []string{"1", "2"} {
		l.deliver(phase(configMap("a", value), configMap("b", value)))
		l.mustSettle(10 * time.Second)
	}
	// As kubectl delete --cascade=foreground does it: the revisions go first.
	l.deletePackage()
	l.discard(1)
	l.discard(2)
	for range 4 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "the objects are torn down", "objects", nil, l.objects())
	if !l.isGone() {
		t.Error("the package is still there")
	}
	want(t, "and no revision is left", "states", nil, l.states())

	// A revision whose package was taken away by force.
	stray := l.written(1, phase(configMap("a", "1")))
	stray.Name, stray.Spec.Package, stray.Finalizers = "other-1", "other", []string{v1alpha1.FinalizerTeardown}
	stray.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: "other", UID: "gone"}}
	l.Create(stray)
	if err := l.API.Delete(t.Context(), stray); err != nil {
		t.Fatal(err)
	}
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the worker is a %T", l.loop.Worker)
	}
	if err := worker.Orphaned(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if err := l.API.Get(t.Context(), requestFor("other-1").NamespacedName, stray); !apierrors.IsNotFound(err) {
		t.Errorf("a revision without a package is held for ever: %v", err)
	}
}
