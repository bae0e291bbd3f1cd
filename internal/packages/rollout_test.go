// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/revisionstest"
)

func want[V any](t *testing.T, reason, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", reason, what, diff)
	}
}

const (
	readyLine    = "Ready=True/Ready Progressing=False/RolledOut Available=True/ProbesSucceeded"
	handoverLine = "Ready=False/NotReady Progressing=True/RollingOut Available=True/Serving"
)

func TestWorker_FirstRollout(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("crd", "a")), phase(deployment("plane", "v1"), configMap("values", "a")), phase(configMap("last", "a")))

	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "a phase starts when the one before is complete, and not before", "objects",
		[]string{"ConfigMap/crd=a", "ConfigMap/values=a", "Deployment/plane=v1"}, l.objects())
	want(t, "what the rollout waits for is reported", "conditions", "Ready=False/NotReady Progressing=True/RollingOut Available=False/RollingOut", l.conditions())
	want(t, "how far it is", "phase", "1/3 2/4", l.revision(1).Status.Phase+" "+l.revision(1).Status.Probes)

	l.ready("plane", true)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the last phase follows", "objects",
		[]string{"ConfigMap/crd=a", "ConfigMap/last=a", "ConfigMap/values=a", "Deployment/plane=v1"}, l.objects())
	want(t, "the package is ready", "conditions", readyLine, l.conditions())
	if status := l.pkg().Status; status.CurrentRevision != 1 || status.TargetRevision != 1 || status.HighestRevision != 1 || status.Version != "1.1.0" {
		t.Errorf("the package's summary is %+v", status)
	}
	if l.revision(1).Status.SucceededAt == nil {
		t.Error("success is not on record")
	}

	l.since()
	l.advance(time.Hour)
	result, err := l.pass()
	writes, requests := l.since()
	if err != nil || result.RequeueAfter != 0 || len(writes)+len(requests) != 0 {
		t.Errorf("a line at rest: error %v, again after %v, writes %v, requests %v; want nothing", err, result.RequeueAfter, writes, requests)
	}
	l.restart()
	if result, err = l.pass(); err != nil || result.RequeueAfter != 0 {
		t.Errorf("after a restart: error %v, again after %v", err, result.RequeueAfter)
	}
	if writes, requests = l.since(); len(writes)+len(requests) != 0 {
		t.Errorf("a line at rest after a restart: writes %v, requests %v; want none", writes, requests)
	}
}

func TestWorker_Handover(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("crd", "a"), configMap("old", "a")), phase(deployment("plane", "v1")))
	_ = l.settle(time.Second)
	l.ready("plane", true)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.since()

	l.revise(2, phase(configMap("crd", "a"), configMap("new", "b")), phase(deployment("plane", "v2")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "what only the older revision contains stays while it serves", "objects",
		[]string{"ConfigMap/crd=a", "ConfigMap/new=b", "ConfigMap/old=a", "Deployment/plane=v2"}, l.objects())
	want(t, "the older revision is not archived before the newer one's success", "states",
		[]string{"1: Active RolledOut", "2: Active RollingOut"}, l.states())
	want(t, "the operand is available throughout", "conditions", handoverLine, l.conditions())

	l.ready("plane", true)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "what only the older revision contained is gone", "objects",
		[]string{"ConfigMap/crd=a", "ConfigMap/new=b", "Deployment/plane=v2"}, l.objects())
	want(t, "the older revision is history", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
	want(t, "the package is ready", "conditions", readyLine, l.conditions())
	_, requests := l.since()
	for _, request := range requests {
		if strings.Contains(request, "crd") {
			t.Errorf("an unchanged object was not left alone: %s", request)
		}
	}
}

// The success is persisted before anything is archived or deleted.
func TestWorker_PersistsSuccessFirst(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	l.revise(1, phase(configMap("old", "a")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(configMap("new", "b")))
	l.Refuse = func(write string) error {
		if strings.HasPrefix(write, "status web-2") {
			return errRefused
		}
		return nil
	}
	if err := l.settle(10 * time.Second); err == nil {
		t.Fatal("the refused write was not reported, so no retry would follow")
	}
	want(t, "without the success on record nothing is archived", "states", []string{"1: Active RolledOut", "2: Active -"}, l.states())
	want(t, "and nothing is deleted", "objects", []string{"ConfigMap/new=b", "ConfigMap/old=a"}, l.objects())

	l.Refuse = func(write string) error {
		if strings.HasPrefix(write, "archive") {
			return errRefused
		}
		return nil
	}
	if err := l.settle(10 * time.Second); err == nil {
		t.Fatal("the refused archiving was not reported")
	}
	want(t, "an object is deleted after its revision is archived", "objects", []string{"ConfigMap/new=b", "ConfigMap/old=a"}, l.objects())

	l.Refuse, l.Writes = nil, nil
	l.restart()
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "after a restart it goes on where it was", "objects", []string{"ConfigMap/new=b"}, l.objects())
	writes, _ := l.since()
	want(t, "archived first, marked as gone when it is, pruned then", "writes",
		[]string{"archive web-1", "status web-1 Archived", "patch web-1", "delete web-1"}, writes)
	want(t, "history is cut", "states", []string{"2: Active RolledOut"}, l.states())
}

// TestWorker_AnswersLost: a write that is refused, and one that is done and whose answer is
// lost, come to the same end.
func TestWorker_AnswersLost(t *testing.T) {
	for _, write := range []string{"status web-2", "archive web-1", "status web-1", "status web "} {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/done=%t", strings.ReplaceAll(write, " ", ""), done), func(t *testing.T) {
				answersLost(t, write, done)
			})
		}
	}
}

func answersLost(t *testing.T, lost string, done bool) {
	t.Helper()
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("old", "a")))
	l.mustSettle(10 * time.Second)
	l.revise(2, phase(configMap("new", "b")))
	hit := false
	once := func(write string) error {
		if hit || !strings.HasPrefix(write, lost) {
			return nil
		}
		hit = true
		return errRefused
	}
	if done {
		l.lose = once
	} else {
		l.Refuse = once
	}
	if err := l.settle(10 * time.Second); err == nil || !hit {
		t.Fatalf("error %v, hit %t", err, hit)
	}
	l.mustSettle(10 * time.Second)
	want(t, "the end is the same", "objects", []string{"ConfigMap/new=b"}, l.objects())
	want(t, "the end is the same", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
	want(t, "the end is the same", "conditions", readyLine, l.conditions())
}

func TestWorker_Paused(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Paused: &v1alpha1.Pause{Reason: "incident", Until: new(metav1.NewTime(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)))}})
	l.revise(1, phase(configMap("a", "x")))
	result, err := l.pass()
	_, requests := l.since()
	if err != nil || result.RequeueAfter != time.Hour {
		t.Errorf("error %v, again after %v; want when the pause ends", err, result.RequeueAfter)
	}
	want(t, "nothing is written while paused", "objects", nil, l.objects())
	for _, request := range requests {
		if !strings.HasPrefix(request, "get") && !strings.HasPrefix(request, "list") {
			t.Errorf("while paused: %s", request)
		}
	}
	want(t, "a pause is reported at once", "conditions", "Ready=False/NotReady Progressing=False/Paused Available=False/RollingOut", l.conditions())
	want(t, "status shows what would be done", "objects of the status", "Waiting", l.revision(1).Status.Objects[0].Reason)

	l.advance(time.Hour)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the pause ends by itself", "conditions", readyLine, l.conditions())
}

func TestWorker_PausedRevision(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "x")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	r := l.revise(2, phase(configMap("b", "x")))
	r.Spec.LifecycleState = v1alpha1.LifecyclePaused
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "a paused revision is not rolled out", "objects", []string{"ConfigMap/a=x"}, l.objects())
	want(t, "and nothing is archived for it", "states", []string{"1: Active RolledOut", "2: Paused Paused"}, l.states())
}

// What a pause keeps from being done includes history's housekeeping.
func TestWorker_PausedDoesNotRetire(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	l.revise(1, phase(configMap("a", "x")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = &v1alpha1.Pause{Reason: "x"} })
	r := l.revision(1)
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(configMap("b", "x")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "nothing is deleted while paused", "objects", []string{"ConfigMap/a=x"}, l.objects())
	want(t, "no revision is pruned while paused", "states", []string{"1: Archived RolledOut", "2: Active Paused"}, l.states())
}

func TestWorker_SoakAndDeadline(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{
		Soak: &metav1.Duration{Duration: time.Minute}, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute},
	})
	l.revise(1, phase(deployment("a", "v1")))
	if err := l.settle(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	result, err := l.pass()
	if err != nil || result.RequeueAfter < 9*time.Minute || result.RequeueAfter > 10*time.Minute {
		t.Errorf("error %v, again after %v; want when the deadline ends", err, result.RequeueAfter)
	}
	l.advance(result.RequeueAfter)
	_, _ = l.pass()
	want(t, "a rollout that hangs is reported", "conditions", "Ready=False/NotReady Progressing=False/ProgressDeadlineExceeded Available=False/RollingOut", l.conditions())

	l.ready("a", true)
	l.advance(progressDelay)
	result, err = l.pass()
	if err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("error %v, again after %v; want when the soak ends", err, result.RequeueAfter)
	}
	want(t, "it can still recover, and soaks then", "conditions", "Ready=False/NotReady Progressing=True/RollingOut Available=True/ProbesSucceeded", l.conditions())
	l.advance(time.Minute)
	_, _ = l.pass()
	want(t, "what has held for the soak has succeeded", "conditions", readyLine, l.conditions())
}

// What is in the way is watched, and asked for no more on a timer.
func TestWorker_Collision(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: time.Hour}})
	l.revise(1, phase(configMap("a", "mine")))
	others := l.cluster.Client("user")
	foreign := unstructuredOf(configMap("a", "theirs"))
	if err := others.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	result, err := l.pass()
	if err != nil || result.RequeueAfter > 0 && result.RequeueAfter < 50*time.Minute {
		t.Errorf("it is checked again after %s, %v, want no timer but the deadline's", result.RequeueAfter, err)
	}
	if len(l.blockers) != 1 || l.blockers[0].ID.Name != "a" || l.blockers[0].ResourceVersion == "" {
		t.Errorf("watched are %+v, want the object in the way in the state that was seen", l.blockers)
	}
	want(t, "another owner's object is left alone", "objects", []string{"ConfigMap/a=theirs"}, l.objects())
	want(t, "the collision is reported", "conditions", "Ready=False/NotReady Progressing=False/ObjectCollisions Available=False/RollingOut", l.conditions())
	if err := others.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "it goes on by itself when the object is gone", "objects", []string{"ConfigMap/a=mine"}, l.objects())
	want(t, "it goes on by itself when the object is gone", "conditions", readyLine, l.conditions())
}

func TestWorker_ObjectRefused(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "x"), configMap("b", "x")))
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Object: id("ConfigMap/a"), Code: 403, Message: "quota"})
	if err := l.settle(10 * time.Second); err == nil {
		t.Fatal("the error was not returned, so no retry would follow")
	}
	want(t, "status is written although the pass has failed", "conditions", "Ready=False/NotReady Progressing=False/RolloutError Available=False/RollingOut", l.conditions())
	want(t, "one object's failure holds up no other", "objects", []string{"ConfigMap/b=x"}, l.objects())
	l.cluster.Heal()
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "another try mends it", "conditions", readyLine, l.conditions())
}

// An error about what an older revision holds does not keep the newer one from
// replacing it.
func TestWorker_OlderRevisionCannotBeRepaired(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("old", "a")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	user := l.cluster.Client("user")
	if err := user.Delete(t.Context(), unstructuredOf(configMap("old", "a"))); err != nil {
		t.Fatal(err)
	}
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Object: id("ConfigMap/old"), Code: 403, Message: "policy"})
	l.revise(2, phase(configMap("new", "b")))
	for range 3 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "the newer one has taken over", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
	want(t, "the newer one has taken over", "objects", []string{"ConfigMap/new=b"}, l.objects())
	if err := l.settle(10 * time.Second); err != nil {
		t.Errorf("with the older revision its error is gone, got %v", err)
	}
	want(t, "the newer one has taken over", "conditions", readyLine, l.conditions())
}

// The usual race is looked into silently; a conflict that stays is reported, and tried
// less and less often.
func TestWorker_Conflicts(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "x")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	object := unstructuredOf(configMap("a", "theirs"))
	object.SetOwnerReferences(l.cluster.Objects()[0].GetOwnerReferences())
	object.SetLabels(l.cluster.Objects()[0].GetLabels())
	object.SetResourceVersion(l.cluster.Objects()[0].GetResourceVersion())
	if err := l.cluster.Client("user").Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Code: 409})
	l.since()
	for range silentConflicts {
		result, err := l.pass()
		if err != nil || result.RequeueAfter <= 0 {
			t.Fatalf("error %v, again after %v; a conflict is no error", err, result.RequeueAfter)
		}
	}
	if writes, _ := l.since(); len(writes) > 0 {
		t.Errorf("a conflict that may go away is not reported: %v", writes)
	}
	result, err := l.pass()
	if err != nil || result.RequeueAfter < time.Second {
		t.Errorf("error %v, again after %v; want a conflict that stays to be tried less often", err, result.RequeueAfter)
	}
	want(t, "a conflict that stays is reported", "conditions", "Ready=False/NotReady Progressing=False/RolloutError Available=True/ProbesSucceeded", l.conditions())
	l.cluster.Heal()
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "it goes on when the conflict is over", "conditions", readyLine, l.conditions())
	want(t, "it goes on when the conflict is over", "objects", []string{"ConfigMap/a=x"}, l.objects())
}

func TestWorker_MissingPackage(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	result, err := l.loop.Reconcile(t.Context(), requestFor("other"))
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("a package that is gone: error %v, again after %v", err, result.RequeueAfter)
	}
	if err := l.API.Get(t.Context(), types.NamespacedName{Name: "other"}, &v1alpha1.Package{}); err == nil {
		t.Error("a package came into being")
	}
}
