// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
)

// wrote makes a pass a while later, and returns the writes to our kinds.
func (l *line) wrote(after time.Duration) []string {
	l.T.Helper()
	l.since()
	l.advance(after)
	if _, err := l.pass(); err != nil {
		l.T.Fatal(err)
	}
	writes, _ := l.since()
	return writes
}

// Statuses that only tell of progress are spaced; those that end a rollout are not.
func TestWorker_SpacesStatusWrites(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(deployment("a", "v1")), phase(deployment("b", "v1"), deployment("c", "v1")))
	result, err := l.pass()
	if writes, _ := l.since(); err != nil || result.RequeueAfter != progressDelay || len(writes) != 0 {
		t.Errorf("first pass: error %v, again after %v, writes %v; a rollout that is quick needs no status in between", err, result.RequeueAfter, writes)
	}
	began := l.Now
	want(t, "after a moment the package tells it", "writes", []string{"status web RollingOut"}, l.wrote(progressDelay))
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "waits for Deployment") {
		t.Errorf("the package does not say what the rollout waits for: %s", message)
	}
	l.ready("a", true)
	want(t, "another phase right after waits", "writes", nil, l.wrote(100*time.Millisecond))
	want(t, "and is reported by the package", "writes", []string{"status web RollingOut"}, l.wrote(progressDelay))
	want(t, "the revision tells it with its details", "writes", []string{"status web-1 RollingOut"}, l.wrote(detailDelay-l.Now.Sub(began)))
	if completed := l.revision(1).Status.Phases[0].CompletedAt; completed.Sub(began) >= detailDelay {
		t.Errorf("the first phase was complete after %v: it counts when that was seen, and not when it was written", completed.Sub(began))
	}
	l.ready("b", true)
	l.advance(2 * time.Second)
	if result, _ = l.pass(); result.RequeueAfter != detailDelay-2*time.Second {
		t.Errorf("a detail waits longer: again after %v", result.RequeueAfter)
	}
	l.ready("c", true)
	want(t, "the end of a rollout is reported at once", "writes", []string{"status web-1 RolledOut", "status web RolledOut"}, l.wrote(0))
}

// An upgrade of a few seconds costs four statuses: that it has begun, the success of the
// new revision and of the package, and that the older one is history.
func TestWorker_UpgradeWritesFewStatuses(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "1")), phase(deployment("plane", "v1")))
	l.mustSettle(time.Second)
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	l.since()

	l.revise(2, phase(configMap("a", "1")), phase(deployment("plane", "v2")))
	l.mustSettle(3 * time.Second)
	want(t, "the package tells that it has begun", "conditions", handoverLine, l.conditions())
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	writes, _ := l.since()
	want(t, "each is reported once, and the older revision's end alone", "writes",
		[]string{"status web RollingOut", "status web-2 RolledOut", "archive web-1", "status web-1 Archived", "status web RolledOut"}, writes)
}

// What an older revision says of its health is reported at once, whatever else waits.
func TestWorker_TellsOfHealthDuringAnUpgrade(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(deployment("gate", "v1"), deployment("plane", "v1")))
	l.mustSettle(time.Second)
	l.ready("gate", true)
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	l.revise(2, phase(deployment("gate", "v2")), phase(deployment("plane", "v1")))
	l.mustSettle(2 * time.Second)
	l.ready("plane", false)
	want(t, "the operand no longer serves", "writes", []string{"status web-1 RolledOut"}, l.wrote(0))
	if c := l.revision(1).Status.Conditions; strings.Contains(l.conditions(), "Available=True") && c[1].Status == "True" {
		t.Errorf("the older revision says that it serves: %v", c)
	}
}

// That what has waited is rolled out now is reported soon, although no phase has moved.
func TestWorker_TellsOfAnApprovalSoon(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(deployment("plane", "v1")))
	l.mustSettle(time.Second)
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Approval = v1alpha1.ApprovalManual })
	next := l.deliver(phase(deployment("plane", "v2")), phase(configMap("last", "2")))
	l.mustSettle(500 * time.Millisecond)
	want(t, "it waits", "states", []string{"1: Active RolledOut", "2: Paused AwaitingApproval"}, l.states())
	l.approve(next.Spec.ContentDigest)
	l.mustSettle(progressDelay)
	want(t, "the package tells of the rollout", "conditions", handoverLine, l.conditions())
	want(t, "and so does the revision", "states", []string{"1: Active RolledOut", "2: Active RollingOut"}, l.states())
}

// An error that is over does not stand in a package's status for longer than progress
// waits.
func TestWorker_TellsOfTheEndOfAnError(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(deployment("plane", "v1")), phase(configMap("last", "1")))
	_, _ = l.pass()
	want(t, "it has begun", "writes", []string{"status web RollingOut"}, l.wrote(progressDelay))
	l.noIdentity = errRefused
	if _, err := l.pass(); err == nil {
		t.Fatal("the error was not returned, so no retry would follow")
	}
	l.noIdentity = nil
	want(t, "it goes on", "writes", []string{"status web RollingOut"}, l.wrote(progressDelay))
}

// TestWorker_TimesOfTheEnd: what a pass has done is reported with the time when it was done, not
// with that of the pass's beginning.
func TestWorker_TimesOfTheEnd(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	began := l.Now
	l.takes = 7 * time.Second
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(time.Minute)
	status := l.revision(1).Status
	if status.SucceededAt == nil || status.SucceededAt.Sub(began) < l.takes {
		t.Errorf("a rollout of %s succeeded at %v, %v after it began", l.takes, status.SucceededAt, began)
	}
	if at := status.Phases[0].CompletedAt; at == nil || at.Sub(began) < l.takes {
		t.Errorf("its phase was complete at %v, and began at %v", at, began)
	}
}
