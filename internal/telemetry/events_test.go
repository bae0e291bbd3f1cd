// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

var (
	now  = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	soon = metav1.NewTime(now.Add(time.Minute))
)

// change is a change of a revision's status.
type change func(*v1alpha1.RevisionStatus)

func revisionWith(changes ...change) *v1alpha1.Revision {
	revision := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "web-2", UID: "u2"}, Spec: v1alpha1.RevisionSpec{Package: "web", Revision: 2}}
	for _, change := range changes {
		change(&revision.Status)
	}
	return revision
}

func is(kind, status, reason, message string) change {
	return func(s *v1alpha1.RevisionStatus) {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
}

func progress(reason, message string) change {
	return is(v1alpha1.ConditionProgressing, "False", reason, message)
}

func begun() change { return func(s *v1alpha1.RevisionStatus) { s.LastProgressTime = &now } }

func past() change { return func(s *v1alpha1.RevisionStatus) { s.ArchivedAt = &now } }

func good() change { return is(v1alpha1.ConditionSucceeded, "True", v1alpha1.ReasonRolloutSuccess, "") }

// phases are given as name:state.
func phases(states ...string) change {
	return func(s *v1alpha1.RevisionStatus) {
		s.Phase = "1/2"
		for _, text := range states {
			name, state, _ := strings.Cut(text, ":")
			s.Phases = append(s.Phases, v1alpha1.PhaseStatus{Name: name, State: v1alpha1.PhaseState(state), Objects: 3, Ready: 1})
		}
	}
}

func unready(phase, reason, name string) change {
	return func(s *v1alpha1.RevisionStatus) {
		s.Objects = append(s.Objects, v1alpha1.ObjectStatus{
			ObjectReference: v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: name},
			Phase:           phase, Reason: reason, Message: "0 of 1 replicas are available",
		})
	}
}

func repaired(name string, count int64, last metav1.Time) change {
	return func(s *v1alpha1.RevisionStatus) {
		s.Interference = append(s.Interference, v1alpha1.Interference{
			ObjectReference: v1alpha1.ObjectReference{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name},
			Manager:         "kubectl-edit", Fields: []string{".data.key"}, Count: count, FirstSeen: now, LastSeen: last,
		})
	}
}

// caused is an entry of the list of another cause than a changed field.
func caused(cause v1alpha1.InterferenceCause, count int64, last metav1.Time) change {
	return func(s *v1alpha1.RevisionStatus) {
		repaired("a", count, last)(s)
		entry := &s.Interference[len(s.Interference)-1]
		entry.Cause, entry.Manager, entry.Fields = cause, "", nil
		if cause == v1alpha1.InterferenceTakenOver {
			entry.Manager = "Package other"
		}
	}
}

// said is an event on one line.
func said(list []Event) []string {
	var lines []string
	for _, e := range list {
		line := e.Type + " " + e.Reason + " " + e.Regarding.Kind + "/" + e.Regarding.Name
		if e.Regarding.FieldPath != "" {
			line += " " + e.Regarding.FieldPath
		}
		if e.Related != nil {
			line += " (" + e.Related.Kind + "/" + e.Related.Name + ")"
		}
		lines = append(lines, line+": "+e.Note)
	}
	return lines
}

// revisionCase is a case of [TestChange_Events].
type revisionCase struct {
	reason        string
	before, after []change
	want          []string
}

var revisionRolling = progress(v1alpha1.ReasonRollingOut, "")

var revisionServes = is(v1alpha1.ConditionAvailable, "True", v1alpha1.ReasonProbesSucceeded, "")

var revisionFails = is(v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonProbeFailed, "Deployment ns/app: 0 of 1 replicas are available")

// revisionCases are the cases of [TestChange_Events].
var revisionCases = map[string]revisionCase{
	"Nothing": {
		reason: "a status that stays the same has no event",
		before: []change{revisionRolling, phases("a:Progressing")}, after: []change{revisionRolling, phases("a:Progressing")},
	},
	"PhaseStarted": {
		reason: "a phase that takes longer is reported when it begins",
		after:  []change{revisionRolling, phases("a:Progressing", "b:Pending")},
		want:   []string{"Normal PhaseStarted Revision/web-2 spec.phases{a} (Package/web): Phase 1/2 a started: 1 of 3 objects are ready"},
	},
	"PhaseCompleted": {
		reason: "one write of a status tells of all phases that are complete by then, and of the next one",
		before: []change{revisionRolling, phases("a:Progressing", "b:Pending", "c:Pending")}, after: []change{revisionRolling, phases("a:Complete", "b:Complete", "c:Progressing")},
		want: []string{
			"Normal PhaseCompleted Revision/web-2 spec.phases{b} (Package/web): Phases a, b are complete (1/2)",
			"Normal PhaseStarted Revision/web-2 spec.phases{c} (Package/web): Phase 3/3 c started: 1 of 3 objects are ready",
		},
	},
	"Succeeded": {
		reason: "success tells of the last phases, too",
		before: []change{revisionRolling, phases("a:Progressing")}, after: []change{progress(v1alpha1.ReasonRolledOut, ""), good(), revisionServes, phases("a:Complete")},
		want: []string{"Normal Succeeded Revision/web-2 (Package/web): The revision is rolled out: 1/2 phases, 0/0 objects"},
	},
	"AfterSuccess": {
		reason: "a phase that comes back is no rollout",
		before: []change{progress(v1alpha1.ReasonRolledOut, ""), good(), phases("a:Progressing")}, after: []change{progress(v1alpha1.ReasonRolledOut, ""), good(), phases("a:Complete")},
	},
	"DeadlineExceeded": {
		reason: "what is in the way is related",
		before: []change{revisionRolling, unready("a", "ProbeFailed", "app")}, after: []change{progress(v1alpha1.ReasonProgressDeadlineExceeded, "nothing moved for 4s"), unready("a", "ProbeFailed", "app")},
		want: []string{"Warning DeadlineExceeded Revision/web-2 (Deployment/app): Nothing moved for 4s"},
	},
	"Collision": {
		reason: "a collision is reported once, however long it lasts", before: []change{revisionRolling},
		after: []change{progress(v1alpha1.ReasonObjectCollisions, "it is another owner's"), unready("a", "Collision", "app")},
		want:  []string{"Warning Collision Revision/web-2 (Deployment/app): It is another owner's"},
	},
	"PermissionDenied": {
		reason: "a missing right is reported", before: []change{revisionRolling}, after: []change{progress(v1alpha1.ReasonPermissionDenied, "cannot create x")},
		want: []string{"Warning PermissionDenied Revision/web-2 (Package/web): Cannot create x"},
	},
	"PreflightFailed": {
		reason: "what would be refused is reported, and phases that were only looked at are not", before: []change{revisionRolling},
		after: []change{progress(v1alpha1.ReasonPreflightFailed, "a field is immutable"), phases("a:Progressing")},
		want:  []string{"Warning PreflightFailed Revision/web-2 (Package/web): A field is immutable"},
	},
	"ContentUnavailable": {
		reason: "lost content is reported", after: []change{progress(v1alpha1.ReasonContentUnavailable, "a slice is gone")},
		want: []string{"Warning ContentUnavailable Revision/web-2 (Package/web): A slice is gone"},
	},
	"InvalidSpec": {
		reason: "content that can never work is reported", after: []change{progress(v1alpha1.ReasonInvalidSpec, "twice")},
		want: []string{"Warning InvalidSpec Revision/web-2 (Package/web): Twice"},
	},
	"RolloutError": {
		reason: "a refusal is reported", before: []change{revisionRolling}, after: []change{progress(v1alpha1.ReasonRolloutError, "refused")},
		want: []string{"Warning RolloutError Revision/web-2 (Package/web): Refused"},
	},
	"AwaitingApproval": {
		reason: "a revision that waits says for what", after: []change{progress(v1alpha1.ReasonAwaitingApproval, "approve it"), phases("a:Progressing")},
		want: []string{"Normal AwaitingApproval Revision/web-2 (Package/web): Approve it"},
	},
	"Approved": {
		reason: "with its approval its phases begin, which were only looked at",
		before: []change{progress(v1alpha1.ReasonAwaitingApproval, ""), phases("a:Progressing")}, after: []change{revisionRolling, begun(), phases("a:Progressing")},
		want: []string{
			"Normal Approved Revision/web-2 (Package/web): The revision may be rolled out",
			"Normal PhaseStarted Revision/web-2 spec.phases{a} (Package/web): Phase 1/1 a started: 1 of 3 objects are ready",
		},
	},
	"NotApproved": {
		reason: "a revision that is overtaken was not approved", before: []change{progress(v1alpha1.ReasonAwaitingApproval, "")}, after: []change{progress(v1alpha1.ReasonSuperseded, "")},
	},
	"ProbeFailing": {
		reason: "what was available and is not", before: []change{good(), revisionServes, phases("a:Complete")},
		after: []change{good(), revisionFails, phases("a:Progressing"), unready("a", "ProbeFailed", "app")},
		want:  []string{"Warning ProbeFailing Revision/web-2 (Deployment/app): Deployment ns/app: 0 of 1 replicas are available"},
	},
	"ProbeFailingInRollout": {
		reason: "a phase that was complete is not any more", before: []change{revisionRolling, phases("a:Complete", "b:Progressing")},
		after: []change{revisionRolling, phases("a:Progressing", "b:Progressing"), unready("a", "ProbeFailed", "app")},
		want:  []string{"Warning ProbeFailing Revision/web-2 (Deployment/app): Deployment app: 0 of 1 replicas are available"},
	},
	"NotReadyYet": {
		reason: "an object that has never been ready does not fail", before: []change{revisionRolling, phases("a:Progressing")},
		after: []change{revisionRolling, phases("a:Progressing"), unready("a", "ProbeFailed", "app")},
	},
	"Recovered": {
		reason: "what serves again is reported", before: []change{good(), revisionFails}, after: []change{good(), revisionServes},
		want: []string{"Normal Recovered Revision/web-2 (Package/web): The objects of the revision are available again"},
	},
	"DriftCorrected": {
		reason: "a flood of repairs is one event",
		before: []change{good()}, after: []change{good(), repaired("a", 1, now), repaired("b", 1, now), repaired("c", 1, now), repaired("d", 2, now), repaired("e", 1, now)},
		want: []string{"Normal DriftCorrected Revision/web-2 (ConfigMap/a): ConfigMap ns/a, ConfigMap ns/b, ConfigMap ns/c and 2 more: kubectl-edit has changed .data.key; repaired"},
	},
	"DriftKnown": {
		reason: "a repair is reported once", before: []change{good(), repaired("a", 1, now)}, after: []change{good(), repaired("a", 1, now)},
	},
	"DriftAgain": {
		reason: "the next repair is another one", before: []change{good(), repaired("a", 1, now)}, after: []change{good(), repaired("a", 1, soon)},
		want: []string{"Normal DriftCorrected Revision/web-2 (ConfigMap/a): ConfigMap ns/a: kubectl-edit has changed .data.key; repaired"},
	},
	"Interference": {
		reason: "a conflict is reported once", before: []change{good(), repaired("a", 2, now)}, after: []change{good(), repaired("a", 3, soon)},
		want: []string{"Warning Interference Revision/web-2 (ConfigMap/a): ConfigMap ns/a: kubectl-edit has changed .data.key, 3 times in a row; repairs are slowed until it stays"},
	},
	"InterferenceGoesOn": {
		reason: "a conflict that goes on is no news", before: []change{good(), repaired("a", 3, now)}, after: []change{good(), repaired("a", 4, soon)},
	},
	"TakenOver": {
		reason: "what is not taken back is reported the first time", before: []change{good()}, after: []change{good(), caused(v1alpha1.InterferenceTakenOver, 1, now)},
		want: []string{"Warning Interference Revision/web-2 (ConfigMap/a): ConfigMap ns/a: Package other has taken it over; it is not taken back"},
	},
	"Flaps": {
		reason: "the third time in a row", before: []change{good(), caused(v1alpha1.InterferenceFlapping, 2, now)}, after: []change{good(), caused(v1alpha1.InterferenceFlapping, 3, soon)},
		want: []string{"Warning Interference Revision/web-2 (ConfigMap/a): ConfigMap ns/a: it has ceased to be ready 3 times in a row"},
	},
	"FlapsOnce": {
		reason: "nothing was repaired", before: []change{good()}, after: []change{good(), caused(v1alpha1.InterferenceFlapping, 1, now)},
	},
	"FlapsAndDrifts": {
		reason: "each has an entry", before: []change{good(), repaired("a", 1, now), caused(v1alpha1.InterferenceFlapping, 5, now)},
		after: []change{good(), repaired("a", 1, now), caused(v1alpha1.InterferenceFlapping, 6, soon)},
	},
	"Archived": {
		reason: "nothing else is reported of what is history", before: []change{good(), progress(v1alpha1.ReasonArchiving, "")},
		after: []change{good(), progress(v1alpha1.ReasonArchived, ""), past(), phases("a:Complete")},
		want:  []string{"Normal Archived Revision/web-2 (Package/web): The revision is archived, and the objects that only it contained are deleted"},
	},
	"ArchivedUnfinished": {
		reason: "what was never rolled out says so", before: []change{revisionRolling}, after: []change{progress(v1alpha1.ReasonArchived, ""), past()},
		want: []string{"Normal Archived Revision/web-2 (Package/web): The revision is archived, and the objects that only it contained are deleted; it never became ready"},
	},
}

func TestChange_Events(t *testing.T) {
	for name, tc := range revisionCases {
		t.Run(name, func(t *testing.T) {
			before, after := revisionWith(tc.before...), revisionWith(tc.after...)
			if diff := cmp.Diff(tc.want, said(Change{Before: before, After: after}.Events())); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			if again := (Change{Before: after, After: after}).Events(); len(again) > 0 {
				t.Errorf("%s: reported again: %v", tc.reason, said(again))
			}
		})
	}
}

// TestHandover: what one revision has reported of an object is not reported again by the one
// that takes the object over.
func TestHandover(t *testing.T) {
	others := []*v1alpha1.Revision{revisionWith(good(), repaired("a", 1, now))}
	if again := (Change{Before: revisionWith(), After: revisionWith(repaired("a", 1, now)), Others: others}).Events(); len(again) > 0 {
		t.Errorf("reported again: %v", said(again))
	}
	if more := (Change{Before: revisionWith(), After: revisionWith(repaired("a", 2, soon)), Others: others}).Events(); len(more) != 1 {
		t.Errorf("the next repair was reported as %v", said(more))
	}
}

func TestForPackage(t *testing.T) {
	with := func(highest, current int64, reason, message string) *v1alpha1.Package {
		pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}}
		pkg.Status = v1alpha1.PackageStatus{HighestRevision: highest, CurrentRevision: current}
		pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Reason: reason, Message: message}}
		return pkg
	}
	rollback := func(pkg *v1alpha1.Package, status v1alpha1.RollbackStatus) *v1alpha1.Package {
		pkg.Spec.Rollback, pkg.Status.Rollback = &v1alpha1.Rollback{Reason: "it is broken"}, &status
		return pkg
	}
	automatic := func(pkg *v1alpha1.Package, status v1alpha1.RollbackStatus) *v1alpha1.Package {
		pkg.Status.AutomaticRollback = &status
		return pkg
	}
	still := with(2, 1, v1alpha1.ReasonRolledOut, "")
	cases := map[string]struct {
		reason        string
		before, after *v1alpha1.Package
		want          []string
	}{
		"RevisionCreated": {
			reason: "a higher number is a new revision", before: still, after: with(3, 1, v1alpha1.ReasonRollingOut, ""),
			want: []string{"Normal RevisionCreated Package/web (Revision/web-3): Revision 3 was created"},
		},
		"HandedOver": {
			reason: "another revision runs", before: still, after: with(2, 2, v1alpha1.ReasonRolledOut, ""),
			want: []string{"Normal HandedOver Package/web (Revision/web-2): Revision 2 has taken over from revision 1"},
		},
		"FirstRevision": {
			reason: "the first one takes over from no revision", before: with(1, 0, v1alpha1.ReasonRollingOut, ""), after: with(1, 1, v1alpha1.ReasonRolledOut, ""),
		},
		"RolledBack": {
			reason: "a rollback says from what to what, and why", before: still,
			after: rollback(with(3, 1, v1alpha1.ReasonRolledOut, ""), v1alpha1.RollbackStatus{FromRevision: 2, ToRevision: 1, Revision: 3}),
			want: []string{
				"Normal RevisionCreated Package/web (Revision/web-3): Revision 3 was created",
				"Normal RolledBack Package/web (Revision/web-3): Revision 3 was made from revision 1, and rejects revision 2: it is broken",
			},
		},
		"RolledBackByItself": {
			reason: "an automatic rollback is one, too", before: still,
			after: automatic(still.DeepCopy(), v1alpha1.RollbackStatus{FromRevision: 2, ToRevision: 1, Revision: 3}),
			want:  []string{"Normal RolledBack Package/web (Revision/web-3): Revision 3 was made from revision 1, and rejects revision 2: it has missed its deadline, and spec.onFailure is Rollback"},
		},
		"RollbackRefused": {
			reason: "a refusal says why", before: still, after: rollback(still.DeepCopy(), v1alpha1.RollbackStatus{Message: "revision 7 does not exist"}),
			want: []string{"Warning RollbackRefused Package/web: The rollback that was asked for was refused: revision 7 does not exist"},
		},
		"Paused": {
			reason: "a pause says who and why", before: still, after: with(2, 1, v1alpha1.ReasonPaused, "revision 2: paused by me: maintenance"),
			want: []string{"Normal Paused Package/web: Revision 2: paused by me: maintenance"},
		},
		"Resumed": {
			reason: "the end of a pause is reported", before: with(2, 1, v1alpha1.ReasonPaused, ""), after: still,
			want: []string{"Normal Resumed Package/web: The pause is over"},
		},
		"DeletedWhilePaused": {
			reason: "a deletion is no end of a pause", before: with(2, 1, v1alpha1.ReasonPaused, ""), after: with(2, 1, v1alpha1.ReasonTearingDown, ""),
		},
		"TeardownStuck": {
			reason: "a teardown that takes too long names what it waits for", before: with(2, 1, v1alpha1.ReasonTearingDown, ""), after: with(2, 1, v1alpha1.ReasonTeardownStuck, "not gone after 10m0s: waits for x"),
			want: []string{"Warning TeardownStuck Package/web: Not gone after 10m0s: waits for x"},
		},
		"OfTarget": {
			reason: "what its target's own event tells is not reported twice", before: still, after: with(2, 1, v1alpha1.ReasonRolloutError, "revision 2: refused"),
		},
		"OfPackage": {
			reason: "what keeps the package from being looked at has no other event", before: still, after: with(2, 1, v1alpha1.ReasonPermissionDenied, "cannot impersonate"),
			want: []string{"Warning PermissionDenied Package/web: Cannot impersonate"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, said(ForPackage(tc.before, tc.after))); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			if again := ForPackage(tc.after, tc.after); len(again) > 0 {
				t.Errorf("%s: reported again: %v", tc.reason, said(again))
			}
		})
	}
}

func TestFacts(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}}
	crd := func(name string, state revisions.Removal) revisions.RemovedObject {
		return revisions.RemovedObject{ID: revisions.ObjectID{GroupKind: schema.GroupKind{Kind: "Namespace"}, Name: name}, State: state}
	}
	cases := map[string]struct {
		reason string
		got    []Event
		want   []string
	}{
		"NothingRetained": {reason: "what is gone is not retained", got: Retained(pkg, nil, []revisions.RemovedObject{crd("a", revisions.RemovalGone)})},
		"Retained": {
			reason: "what stays is named once, also when two revisions contained it",
			got:    Retained(pkg, nil, []revisions.RemovedObject{crd("a", revisions.RemovalRetained), crd("a", revisions.RemovalRetained), crd("b", revisions.RemovalGone)}),
			want:   []string{"Normal Retained Package/web: Namespace a: kept on purpose; delete by hand what is not wanted"},
		},
		"RetainedOfRevision": {
			reason: "an archived revision tells for itself", got: Retained(pkg, revisionWith(), []revisions.RemovedObject{crd("a", revisions.RemovalRetained)}),
			want: []string{"Normal Retained Revision/web-2: Namespace a: kept on purpose; delete by hand what is not wanted"},
		},
		"RetainedInUse": {
			reason: "what keeps it is said",
			got: Retained(pkg, nil, []revisions.RemovedObject{{
				ID: revisions.ObjectID{GroupKind: schema.GroupKind{Kind: "CustomResourceDefinition"}, Name: "a"}, State: revisions.RemovalRetained,
				Message: "it is kept, as 2 instances of A exist (e.g. x)",
			}}),
			want: []string{"Normal Retained Package/web: CustomResourceDefinition a (2 instances of A exist (e.g. x)): kept on purpose; delete by hand what is not wanted"},
		},
		"NothingPruned": {reason: "no revision, no event", got: Pruned(pkg, nil)},
		"Pruned": {
			reason: "all that went in a pass are one event", got: Pruned(pkg, []int64{1, 2, 3, 4}),
			want: []string{"Normal Pruned Package/web: Archived revisions beyond revisionHistoryLimit were deleted: 1, 2, 3 and 1 more"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, said(tc.got)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBounded: the API server refuses a longer note, and with it the event.
func TestBounded(t *testing.T) {
	for name, text := range map[string]string{"Long": strings.Repeat("x", 5000), "Multibyte": strings.Repeat("ü", 600), "Broken": "a\xffb", "Empty": ""} {
		note := Change{Before: revisionWith(), After: revisionWith(progress(v1alpha1.ReasonRolloutError, text))}.Events()[0].Note
		if len(note) > NoteLimit || !utf8.ValidString(note) {
			t.Errorf("%s: a note of %d bytes, valid %t", name, len(note), utf8.ValidString(note))
		}
		if len(text) > NoteLimit && !strings.HasSuffix(note, "(cut)") {
			t.Errorf("%s: the note does not say that it was cut", name)
		}
	}
}

// TestTypes: every event is Normal or Warning, and has an action, as the API server
// asks for.
func TestCapital(t *testing.T) {
	for text, want := range map[string]string{"": "", "the revision waits": "The revision waits", "system:serviceaccount:a:b may not get pods": "system:serviceaccount:a:b may not get pods"} {
		if got := capital(text); got != want {
			t.Errorf("capital(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTypes(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	for _, e := range []Event{revisionCreated(pkg, 1), paused(pkg, ""), resumed(pkg), approved(revisionWith()), teardownStuck(pkg, "")} {
		if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning || e.Action == "" || e.Reason == "" {
			t.Errorf("event %+v", e)
		}
	}
}
