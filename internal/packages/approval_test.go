// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

// deliver makes the next revision as a front does, out of the line as it is.
func (l *line) deliver(phases ...[]map[string]any) *v1alpha1.Revision {
	l.T.Helper()
	list := &v1alpha1.RevisionList{}
	if err := l.API.List(l.T.Context(), list); err != nil {
		l.T.Fatal(err)
	}
	pkg := l.pkg()
	sorted := history.Sort(pkg, list.Items)
	draft := l.written(sorted.Highest+1, phases...)
	packed := history.Content{Phases: draft.Spec.Phases, Digest: digestOf(l.T, draft), Origin: *draft.Spec.Origin}
	next := sorted.Next(pkg, packed)
	l.Create(next)
	return next
}

func (l *line) approve(digest string) {
	l.T.Helper()
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.ApprovedDigest = digest })
}

func (l *line) mustSettle(limit time.Duration) {
	l.T.Helper()
	if err := l.settle(limit); err != nil {
		l.T.Fatal(err)
	}
}

// planOf is a revision's plan, on lines.
func (l *line) planOf(number int64) string {
	l.T.Helper()
	plan := l.revision(number).Status.Plan
	if plan == nil {
		return ""
	}
	text := plan.Summary
	for _, object := range plan.Objects {
		text += fmt.Sprintf("\n%s %s", object.Action, object.Name)
	}
	return text
}

func TestWorker_Approval(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("same", "1"), configMap("changed", "1"), configMap("removed", "1")))
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Approval = v1alpha1.ApprovalManual })
	next := l.deliver(phase(configMap("same", "1"), configMap("changed", "2"), configMap("new", "2")))
	l.mustSettle(10 * time.Second)

	want(t, "nothing of it is rolled out", "objects", []string{"ConfigMap/changed=1", "ConfigMap/removed=1", "ConfigMap/same=1"}, l.objects())
	want(t, "it waits", "states", []string{"1: Active RolledOut", "2: Paused AwaitingApproval"}, l.states())
	want(t, "the package says so, and that it serves", "conditions", "Ready=False/NotReady Progressing=False/AwaitingApproval Available=True/Serving", l.conditions())
	want(t, "what it would do is shown", "plan", "1 create, 1 update, 1 delete, 1 unchanged\nUpdate changed\nCreate new\nDelete removed", l.planOf(2))
	want(t, "under the digest to approve", "digest", next.Spec.ContentDigest, l.revision(2).Status.Plan.Digest)
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, next.Spec.ContentDigest+" is not approved: strata approve web --revision 2") {
		t.Errorf("the remedy cannot be copied: %s", message)
	}
	if inventory := l.revision(2).Status.Inventory; len(inventory) > 0 {
		t.Errorf("what waits has put something in place: %v", inventory)
	}

	// What was rolled out before is kept meanwhile.
	if err := l.cluster.Client("user").Delete(t.Context(), unstructuredOf(configMap("changed", "1"))); err != nil {
		t.Fatal(err)
	}
	l.mustSettle(10 * time.Second)
	want(t, "an older revision goes on being repaired", "objects", []string{"ConfigMap/changed=1", "ConfigMap/removed=1", "ConfigMap/same=1"}, l.objects())
	l.mustSettle(10 * time.Second) // as the change of the object asks for
	l.restart()
	l.since()
	l.mustSettle(10 * time.Second)
	if writes, _ := l.since(); len(writes) > 0 {
		t.Errorf("what waits is at rest, also after a restart, and got %v", writes)
	}

	l.approve("sha256:" + strings.Repeat("0", 64))
	l.mustSettle(10 * time.Second)
	want(t, "an approval of other content is none", "states", []string{"1: Active RolledOut", "2: Paused AwaitingApproval"}, l.states())
	l.approve(next.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	want(t, "what is approved is rolled out", "objects", []string{"ConfigMap/changed=2", "ConfigMap/new=2", "ConfigMap/same=1"}, l.objects())
	want(t, "and takes over", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
	if r := l.revision(2); len(r.Annotations) > 0 || r.Status.Plan != nil {
		t.Errorf("the wait is over, and still has annotations %v and plan %v", r.Annotations, r.Status.Plan)
	}
	want(t, "the package is ready", "conditions", readyLine, l.conditions())
}

// A revision made by hand is withheld like any other, and its digest is worked out.
func TestWorker_ApprovalOfWhatIsMadeByHand(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual})
	l.Create(l.written(1, phase(configMap("a", "1"))))
	l.mustSettle(10 * time.Second)
	want(t, "the first revision waits", "states", []string{"1: Active AwaitingApproval"}, l.states())
	want(t, "nothing of it is rolled out", "objects", nil, l.objects())
	digest := l.revision(1).Status.Plan.Digest
	want(t, "its digest is worked out", "digest", digestOf(t, l.revision(1)), digest)
	l.approve(digest)
	l.mustSettle(10 * time.Second)
	want(t, "the approval is known by it", "states", []string{"1: Active RolledOut"}, l.states())
}

// An approval is needed to begin. What has begun goes on without it, and a newer
// revision that waits does not stop it halfway.
func TestWorker_ApprovalIsTakenBack(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual})
	first := l.deliver(phase(configMap("a", "1")), phase(deployment("gate", "v1")), phase(configMap("last", "1")))
	l.approve(first.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	want(t, "it has begun", "objects", []string{"ConfigMap/a=1", "Deployment/gate=v1"}, l.objects())
	l.approve("")
	l.restart()
	second := l.deliver(phase(configMap("a", "2")))
	l.mustSettle(10 * time.Second)
	want(t, "the newer one waits", "states", []string{"1: Active RollingOut", "2: Paused AwaitingApproval"}, l.states())
	if status := l.pkg().Status; status.TargetRevision != 1 || status.HighestRevision != 2 {
		t.Errorf("the package rolls out revision %d of %d, want 1 of 2", status.TargetRevision, status.HighestRevision)
	}
	l.ready("gate", true)
	l.mustSettle(10 * time.Second)
	want(t, "what has begun is rolled out to its end", "objects", []string{"ConfigMap/a=1", "ConfigMap/last=1", "Deployment/gate=v1"}, l.objects())
	want(t, "then it is seen what the newer one would do", "plan", "1 update, 2 delete, 0 unchanged\nUpdate a\nDelete gate\nDelete last", l.planOf(2))
	l.approve(second.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	want(t, "and it takes over when it is approved", "objects", []string{"ConfigMap/a=2"}, l.objects())
}

// Every object of the content is in place already, and others would go.
func TestWorker_ApprovalOfWhatOnlyRemoves(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), configMap("b", "1")))
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Gates = []v1alpha1.Gate{{Name: "check", Reason: "b is needed"}} })
	next := l.deliver(phase(configMap("a", "1")))
	l.mustSettle(time.Minute)
	want(t, "nothing is removed while a gate is closed", "objects", []string{"ConfigMap/a=1", "ConfigMap/b=1"}, l.objects())
	want(t, "why is reported", "conditions", "Ready=False/NotReady Progressing=False/AwaitingApproval Available=True/Serving", l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "gate check") || !strings.Contains(message, "b is needed") || !strings.Contains(message, "1 delete, 1 unchanged") {
		t.Errorf("the message does not name the gate, its reason and what would be done: %s", message)
	}
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Gates[0].ApprovedDigest = next.Spec.ContentDigest })
	l.mustSettle(10 * time.Second)
	want(t, "with the gate open it is", "objects", []string{"ConfigMap/a=1"}, l.objects())
}

// A person's pause is not ended by an approval.
func TestWorker_ApprovalAndPause(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual})
	next := l.deliver(phase(configMap("a", "1")))
	r := l.revision(1)
	delete(r.Annotations, v1alpha1.AnnotationAwaitingApproval)
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.approve(next.Spec.ContentDigest)
	l.mustSettle(10 * time.Second)
	want(t, "it stays paused", "states", []string{"1: Paused Paused"}, l.states())
	want(t, "and shows what it would do", "plan", "1 create, 0 unchanged\nCreate a", l.planOf(1))
}

// An admin who rolls back under manual approval does not have to approve as well.
func TestWorker_RollbackUnderApproval(t *testing.T) {
	l := rolledOn(t)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Approval = v1alpha1.ApprovalManual })
	l.rollBack(1)
	l.mustSettle(10 * time.Second)
	want(t, "what has succeeded before is rolled out", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
}

// While nothing counts, no deadline passes, and no soak ends.
func TestWorker_PauseStopsTheClock(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{
		Soak: &metav1.Duration{Duration: time.Minute}, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute},
	})
	l.deliver(phase(deployment("a", "v1")))
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = &v1alpha1.Pause{By: "ann", Reason: "incident"} })
	l.mustSettle(time.Hour)
	l.advance(time.Hour)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = nil })
	l.mustSettle(time.Second)
	l.advance(9 * time.Minute)
	l.mustSettle(time.Second)
	want(t, "the deadline counts anew after a pause", "conditions", "Ready=False/NotReady Progressing=True/RollingOut Available=False/RollingOut", l.conditions())

	l.ready("a", true)
	l.advance(time.Second)
	if _, err := l.pass(); err != nil {
		t.Fatal(err)
	}
	l.advance(30 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = &v1alpha1.Pause{Reason: "incident"} })
	l.mustSettle(time.Hour)
	l.advance(time.Hour)
	want(t, "a soak does not end in a pause", "states", []string{"1: Active Paused"}, l.states())
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = nil })
	l.mustSettle(time.Second)
	l.advance(50 * time.Second)
	l.mustSettle(time.Second)
	want(t, "and counts anew after it", "states", []string{"1: Active RollingOut"}, l.states())
	l.advance(10 * time.Second)
	l.mustSettle(time.Second)
	want(t, "to its end", "states", []string{"1: Active RolledOut"}, l.states())
}

// A revision that is paused while others of its line go on.
func TestWorker_PausedServing(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("old", "1")))
	l.mustSettle(10 * time.Second)
	r := l.revision(1)
	r.Spec.LifecycleState = v1alpha1.LifecyclePaused
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.deliver(phase(configMap("new", "1")), phase(deployment("gate", "v1")))
	l.mustSettle(10 * time.Second)
	user := l.cluster.Client("user")
	for _, name := range []string{"old", "new"} {
		if err := user.Delete(t.Context(), unstructuredOf(configMap(name, "1"))); err != nil {
			t.Fatal(err)
		}
	}
	l.mustSettle(10 * time.Second)
	want(t, "of the paused one nothing is repaired, of the other all", "objects", []string{"ConfigMap/new=1", "Deployment/gate=v1"}, l.objects())
	want(t, "it says so", "states", []string{"1: Paused Paused", "2: Active RollingOut"}, l.states())
}

// digestOf is the digest that a front would give the revision's content.
func digestOf(t *testing.T, revision *v1alpha1.Revision) string {
	t.Helper()
	var phases []content.Phase
	for _, phase := range revision.Spec.Phases {
		next := content.Phase{Name: phase.Name}
		for _, object := range phase.Objects {
			manifest := &unstructured.Unstructured{}
			if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
				t.Fatal(err)
			}
			next.Objects = append(next.Objects, content.Object{Manifest: manifest})
		}
		phases = append(phases, next)
	}
	packed, err := content.Pack(phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	return packed.Digest
}
