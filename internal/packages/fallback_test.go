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
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// falling is a line that falls back after ten minutes, whose revision 1 has
// succeeded and whose revision 2 hangs.
func falling(t *testing.T) *line {
	t.Helper()
	l := newLine(t, v1alpha1.PackageSpec{
		OnFailure: v1alpha1.FailureRollback, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute},
	})
	l.deliver(phase(configMap("a", "good")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "bad")), phase(deployment("gate", "v1")))
	l.mustSettle(10 * time.Second)
	return l
}

func TestWorker_FallsBack(t *testing.T) {
	l := falling(t)
	l.advance(9 * time.Minute)
	l.mustSettle(time.Second)
	want(t, "before the deadline nothing is rolled back", "states", []string{"1: Active RolledOut", "2: Active RollingOut"}, l.states())
	rejected := l.revision(2).Spec.ContentDigest
	l.advance(time.Minute)
	l.since()
	l.mustSettle(10 * time.Second)
	writes, _ := l.since()
	if failed, made := at(writes, "status web-2 ProgressDeadlineExceeded"), at(writes, "create web-3"); failed < 0 || made < failed {
		t.Errorf("the failure is on record before it is answered, got %v", writes)
	}
	want(t, "the content that has succeeded is a new revision", "states",
		[]string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
	want(t, "and runs", "objects", []string{"ConfigMap/a=good"}, l.objects())
	want(t, "the package says what happened", "conditions", "Ready=True/RolledBack Progressing=False/RolledOut Available=True/ProbesSucceeded", l.conditions())
	origin := l.revision(3).Spec.Origin
	if origin.Kind != v1alpha1.OriginRollback || !strings.Contains(origin.Reason, "nothing moved for 10m0s") || !strings.Contains(origin.Reason, "Deployment app/gate") {
		t.Errorf("the history does not name the deadline and what was waited for: %+v", origin)
	}
	back := l.pkg().Status.AutomaticRollback
	if back == nil || back.FromRevision != 2 || back.ToRevision != 1 || back.Revision != 3 || back.RejectedDigest != rejected || back.RequestedAt.IsZero() {
		t.Errorf("the record is %+v", back)
	}
	line, err := l.line()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a front does not make the rejected content again", "need", history.NeedRejected, line.NeedFor(l.pkg(), rejected))
	l.advance(time.Hour)
	l.since()
	l.mustSettle(10 * time.Second)
	if writes, _ := l.since(); len(writes) > 0 {
		t.Errorf("it is over, and the loop writes %v", writes)
	}
}

// at is the place of a write in a list, -1 when it is not there.
func at(writes []string, write string) int {
	for i := range writes {
		if writes[i] == write {
			return i
		}
	}
	return -1
}

// line is the line as the API server has it.
func (l *line) line() (history.History, error) {
	list := &v1alpha1.RevisionList{}
	if err := l.API.List(l.T.Context(), list); err != nil {
		return history.History{}, err
	}
	return history.Sort(l.pkg(), list.Items), nil
}

// A failure is answered once, whichever write gets lost.
func TestWorker_FallsBackOnce(t *testing.T) {
	for name, lost := range map[string]string{"Record": "status web ", "Revision": "create web-3", "Failure": "status web-2"} {
		t.Run(name, func(t *testing.T) {
			l := falling(t)
			l.advance(10 * time.Minute)
			refused := 0
			l.Refuse = func(write string) error {
				if strings.HasPrefix(write, lost) && refused < 2 {
					refused++
					return errRefused
				}
				return nil
			}
			for range 3 {
				_ = l.settle(10 * time.Second)
				l.restart()
			}
			l.mustSettle(10 * time.Second)
			want(t, "one revision is made", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
			back := l.pkg().Status.AutomaticRollback
			if refused == 0 || back == nil || back.Revision != 3 || back.FromRevision != 2 || back.ToRevision != 1 || back.RejectedDigest != l.revision(2).Spec.ContentDigest {
				t.Errorf("refused %d times, the record is %+v", refused, back)
			}
		})
	}
}

// Nothing swings to and fro, whichever user or front makes the content again.
func TestWorker_FallsBackWithoutPingPong(t *testing.T) {
	l := falling(t)
	l.advance(10 * time.Minute)
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "bad")), phase(deployment("gate", "v1")))
	for range 5 {
		l.mustSettle(10 * time.Second)
		l.advance(11 * time.Minute)
	}
	want(t, "content that fails again is left where it is", "states",
		[]string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut", "4: Active ProgressDeadlineExceeded"}, l.states())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "rolled back from once, by revision 3") {
		t.Errorf("why is not reported: %s", message)
	}
	want(t, "what had succeeded serves", "Available", "True/Serving: revision 3 serves while revision 4 is rolled out", l.condition(v1alpha1.ConditionAvailable))
	l.ready("gate", true)
	l.mustSettle(10 * time.Second)
	want(t, "it can still recover", "conditions", readyLine, l.conditions())
}

// A rollback that fails in its turn is not rolled back from.
func TestWorker_FallbackFails(t *testing.T) {
	l := falling(t)
	l.advance(10 * time.Minute)
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Object: id("ConfigMap/a"), Code: 422, Message: "policy"})
	for range 5 {
		_ = l.settle(10 * time.Second)
		l.advance(11 * time.Minute)
	}
	want(t, "one revision is made, and stays", "states",
		[]string{"1: Active RolledOut", "2: Active Superseded", "3: Active ObjectRefused"}, l.states())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "policy") || !strings.Contains(message, "a rollback is not rolled back from") {
		t.Errorf("what is wrong is not reported: %s", message)
	}
}

// A rollout that cannot go on misses its deadline as well as one that hangs.
func TestWorker_FallsBackFromErrors(t *testing.T) {
	for name, bad := range map[string][]map[string]any{
		"Refused": phase(configMap("refused", "x")),
		"Invalid": phase(configMap("twice", "x"), configMap("twice", "x")),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{OnFailure: v1alpha1.FailureRollback, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}})
			l.deliver(phase(configMap("a", "good")))
			l.mustSettle(10 * time.Second)
			l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Object: id("ConfigMap/refused"), Code: 422, Message: "policy"})
			l.deliver(bad)
			_ = l.settle(10 * time.Second)
			result, _ := l.pass()
			if name == "Invalid" && (result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Minute) {
				t.Errorf("again after %v, want when the deadline ends", result.RequeueAfter)
			}
			l.advance(10 * time.Minute)
			_ = l.settle(10 * time.Second)
			l.mustSettle(10 * time.Second)
			want(t, "what had succeeded is back", "objects", []string{"ConfigMap/a=good"}, l.objects())
			want(t, "as a new revision", "conditions", "Ready=True/RolledBack Progressing=False/RolledOut Available=True/ProbesSucceeded", l.conditions())
		})
	}
}

// A rollback that a user asks for comes first.
func TestWorker_RollbackDuringFallback(t *testing.T) {
	l := falling(t)
	l.advance(10 * time.Minute)
	l.rollBack(1)
	l.mustSettle(10 * time.Second)
	want(t, "one revision answers both", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
	if status := l.pkg().Status; status.Rollback == nil || status.Rollback.Revision != 3 || status.AutomaticRollback != nil {
		t.Errorf("the records are %+v and %+v, want the one that was asked for", status.Rollback, status.AutomaticRollback)
	}
}

// Two requests of the same second, to different revisions: each is answered once, in
// the order in which they were seen.
func TestWorker_RollbacksOfTheSameSecond(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	for number := range 3 {
		l.deliver(phase(configMap("a", fmt.Sprint(number+1))))
		l.mustSettle(10 * time.Second)
	}
	l.rollBack(1)
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Rollback.ToRevision = 2 })
	l.restart()
	l.mustSettle(10 * time.Second)
	want(t, "the later request wins, and no number is given twice", "objects", []string{"ConfigMap/a=2"}, l.objects())
	status := l.pkg().Status
	if status.CurrentRevision != 5 || status.HighestRevision != 5 || status.Rollback.ToRevision != 2 {
		t.Errorf("the package's status is %+v, want revision 5 with the content of revision 2", status)
	}
}

// Of a burst of changes only the last is rolled out, and the others cost little.
func TestWorker_Burst(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](100)})
	l.deliver(phase(configMap("a", "0")))
	l.mustSettle(10 * time.Second)
	l.since()
	for change := range 10 {
		l.deliver(phase(configMap("a", fmt.Sprint(change+1)), configMap(fmt.Sprintf("only-%d", change+1), "x")))
	}
	l.mustSettle(10 * time.Second)
	want(t, "the last one runs", "objects", []string{"ConfigMap/a=10", "ConfigMap/only-10=x"}, l.objects())
	for number := int64(2); number <= 10; number++ {
		r := l.revision(number)
		if r.Status.ArchivedAt == nil || history.Succeeded(r) || len(r.Status.Inventory) > 0 {
			t.Errorf("revision %d is %s, with inventory %v; want it archived without having been rolled out", number, r.Spec.LifecycleState, r.Status.Inventory)
		}
	}
	writes, requests := l.since()
	statuses, changed := 0, 0
	for _, write := range writes {
		if strings.HasPrefix(write, "status") {
			statuses++
		}
	}
	for _, request := range requests {
		if !strings.HasPrefix(request, "get") {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("the burst cost %d writes of objects, want the 2 of the last revision: %v", changed, requests)
	}
	// One that says archived for each that was left behind, and at most four for the
	// handover itself.
	if statuses > 9+4 {
		t.Errorf("the burst cost %d writes of statuses, want at most 13: %v", statuses, writes)
	}
}

// What has begun hands over object by object, and what it never got to is not
// started any more.
func TestWorker_BurstOverWhatHasBegun(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2"), configMap("begun", "2")), phase(deployment("gate", "v2")), phase(configMap("never", "2")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(deployment("gate", "v3")), phase(configMap("a", "3")))
	l.mustSettle(10 * time.Second)
	want(t, "what has put objects in place stays until its successor has succeeded", "states",
		[]string{"1: Active RolledOut", "2: Active Superseded", "3: Active RollingOut"}, l.states())
	l.ready("gate", true)
	l.mustSettle(10 * time.Second)
	want(t, "what it never got to is never applied", "objects", []string{"ConfigMap/a=3", "Deployment/gate=v3"}, l.objects())
	for _, request := range l.cluster.Requests("strata") {
		if strings.Contains(request.String(), "never") && !strings.HasPrefix(request.String(), "get") {
			t.Errorf("it was: %s", request)
		}
	}
}

// Numbers are given once, also when everything that has had them is gone.
func TestWorker_NumbersAfterPruning(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	for range 3 {
		l.deliver(phase(configMap("a", fmt.Sprint(l.Now.Unix()))))
		l.mustSettle(10 * time.Second)
		l.advance(time.Second)
	}
	want(t, "history is cut", "states", []string{"3: Active RolledOut"}, l.states())
	r := l.revision(3)
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.mustSettle(10 * time.Second)
	if err := l.API.Delete(t.Context(), l.revision(3)); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.mustSettle(10 * time.Second)
	want(t, "all are gone", "states", nil, l.states())
	if next := l.deliver(phase(configMap("a", "new"))); next.Spec.Revision != 4 {
		t.Errorf("the next revision is %d, want 4", next.Spec.Revision)
	}
	l.mustSettle(10 * time.Second)
	want(t, "and it is rolled out", "conditions", readyLine, l.conditions())
}
