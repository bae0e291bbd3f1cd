// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// rolledOn is a line whose revision 1 is history and whose revision 2 is the
// target, both with a digest.
func rolledOn(t *testing.T) *line {
	t.Helper()
	l := newLine(t, v1alpha1.PackageSpec{})
	l.reviseInSlice(1, "a", "good")
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.reviseInSlice(2, "a", "bad")
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the line before the rollback", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
	l.since()
	return l
}

func (l *line) rollBack(to int64) {
	l.T.Helper()
	l.change(func(pkg *v1alpha1.Package) {
		pkg.Spec.Rollback = &v1alpha1.Rollback{ToRevision: to, Reason: "it breaks", RequestedAt: metav1.NewTime(l.Now)}
	})
}

func TestWorker_Rollback(t *testing.T) {
	l := rolledOn(t)
	l.rollBack(1)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the earlier content is a new revision", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
	want(t, "the earlier content runs", "objects", []string{"ConfigMap/a=good"}, l.objects())
	want(t, "the package says what happened", "conditions", "Ready=True/RolledBack Progressing=False/RolledOut Available=True/ProbesSucceeded", l.conditions())
	made := l.revision(3)
	want(t, "the content is the earlier one's, from the API server and not from the cache", "digest", l.revision(1).Spec.ContentDigest, made.Spec.ContentDigest)
	want(t, "its origin tells why", "origin", "Rollback Revision/web-1 rollback from revision 2 to 1: it breaks",
		string(made.Spec.Origin.Kind)+" "+made.Spec.Origin.Reference+" "+made.Spec.Origin.Reason)
	status := l.pkg().Status
	want(t, "the outcome is on record", "rollback", v1alpha1.RollbackStatus{
		RequestedAt: l.pkg().Spec.Rollback.RequestedAt, FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: l.revision(2).Spec.ContentDigest,
	}, *status.Rollback)
	if status.HighestRevision != 3 || status.CurrentRevision != 3 || status.ObservedGeneration != l.pkg().Generation {
		t.Errorf("the summary is %+v", status)
	}
}

// A request is answered once, whichever write gets lost.
func TestWorker_RollbackOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		to     int64
		lost   string
	}{
		"RecordLost":            {reason: "the revision was made and not recorded", to: 1, lost: "status web "},
		"RecordLostByDefault":   {reason: "the rollback is not itself rolled back", lost: "status web "},
		"RevisionNotCreated":    {reason: "nothing was made", to: 1, lost: "create web-3"},
		"FirstStatusOfItIsLost": {reason: "the rollout goes on", to: 1, lost: "status web-3"},
	} {
		t.Run(name, func(t *testing.T) {
			l := rolledOn(t)
			l.rollBack(tc.to)
			refused := false
			l.Refuse = func(write string) error {
				if strings.HasPrefix(write, tc.lost) && !refused {
					refused = true
					return errRefused
				}
				return nil
			}
			if err := l.settle(10 * time.Second); err == nil || !refused {
				t.Fatalf("error %v, refused %t", err, refused)
			}
			l.restart()
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			want(t, tc.reason, "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
			want(t, tc.reason, "objects", []string{"ConfigMap/a=good"}, l.objects())
			status := l.pkg().Status.Rollback
			if status == nil || status.Revision != 3 || status.FromRevision != 2 || status.ToRevision != 1 || status.RejectedDigest != l.revision(2).Spec.ContentDigest {
				t.Errorf("%s: the outcome is %+v", tc.reason, status)
			}
		})
	}
}

func TestWorker_RollbackRefused(t *testing.T) {
	l := rolledOn(t)
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.RevisionHistoryLimit = ptr.To[int32](0) })
	l.rollBack(7)
	result, err := l.pass()
	// What only the pruned revision referred to is collected by then.
	if err != nil || result.RequeueAfter != content.Grace {
		t.Fatalf("error %v, again after %v", err, result.RequeueAfter)
	}
	want(t, "no revision is made, and what else was changed is done in the same pass", "states", []string{"2: Active RolledOut"}, l.states())
	want(t, "the refusal is reported, and what runs is as ready as before", "conditions", "Ready=True/Ready Progressing=False/RollbackRefused Available=True/ProbesSucceeded", l.conditions())
	status := l.pkg().Status
	if status.Rollback.Message == "" || status.Rollback.Revision != 0 || status.ObservedGeneration != l.pkg().Generation {
		t.Errorf("the outcome is %+v, about generation %d of %d", status.Rollback, status.ObservedGeneration, l.pkg().Generation)
	}
	l.since()
	if _, err := l.pass(); err != nil {
		t.Fatal(err)
	}
	if writes, _ := l.since(); len(writes) > 0 {
		t.Errorf("a refused request is answered once, got %v", writes)
	}
}

// An error that keeps a rollback from being started is reported.
func TestWorker_RollbackFails(t *testing.T) {
	l := rolledOn(t)
	l.rollBack(1)
	l.Refuse = func(write string) error {
		if strings.HasPrefix(write, "create") {
			return errRefused
		}
		return nil
	}
	if _, err := l.pass(); err == nil {
		t.Fatal("the error was not returned, so no retry would follow")
	}
	want(t, "the error is reported", "Progressing", "False/RolloutError: creating revision 3 for a rollback: the API server says no", l.condition(v1alpha1.ConditionProgressing))
	want(t, "what serves is still known to", "Available", "True/ProbesSucceeded: the operand serves", l.condition(v1alpha1.ConditionAvailable))
}

// A rollback to content of a kind that is not served any more is refused, with the kind and
// what to do, and so is one that no user has asked for. What runs goes on.
func TestWorker_RollbackUnserved(t *testing.T) {
	kind := schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}
	for name, how := range map[string]revisionstest.Serving{"Gone": revisionstest.Unknown, "GoneUnnoticed": revisionstest.Unreachable} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{OnFailure: v1alpha1.FailureRollback, ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}})
			l.cluster.Serve(kind, revisionstest.Served)
			l.deliver(phase(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "w", "namespace": "app"}}))
			l.mustSettle(10 * time.Second)
			l.deliver(phase(configMap("a", "2")))
			l.mustSettle(10 * time.Second)
			l.cluster.Serve(kind, how)
			l.rollBack(1)
			l.mustSettle(10 * time.Second)
			const text = "revision 1 cannot be rolled out again: the API server serves no kind Role in rbac.authorization.k8s.io/v1 (of w): have it served again, or apply the content in a version that is served"
			want(t, "the refusal names kind and remedy", "message", text, l.pkg().Status.Rollback.Message)
			want(t, "no revision is made", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
			l.cluster.Serve(kind, revisionstest.Served)
			l.advance(time.Second)
			l.rollBack(1)
			l.mustSettle(10 * time.Second)
			want(t, "served again it is rolled out", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())

			l.deliver(phase(configMap("a", "4")), phase(deployment("gate", "v1")))
			l.mustSettle(10 * time.Second)
			l.cluster.Serve(kind, how)
			l.advance(11 * time.Minute)
			for range 3 {
				_, _ = l.pass() // which fails, as the rollback cannot be made
			}
			want(t, "no revision is made", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut", "4: Active " + progressReason(l.revision(4).Status.Conditions)}, l.states())
			if c := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(c, "no kind Role") {
				t.Errorf("the package does not say what is not served: %s", c)
			}
		})
	}
}
