// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// older is a revision after a rollout of the phases given.
func older(phases ...phase) *v1alpha1.Revision {
	revision := revisionOf(1, phases...)
	revision.Status = status.ForTarget(revision, observe(100, phases...))
	return revision
}

func TestForServing(t *testing.T) {
	good := []phase{{name: "plane", objects: []stand{ready, ready}}}
	bad := []phase{{name: "plane", objects: []stand{failing, ready}}}
	lost := &content.UnavailableError{Slice: "sha256-1", Reason: "does not exist"}
	serves := probes.Result{Status: probes.True}
	tests := map[string]struct {
		reason        string
		before        []phase
		now           []phase
		serves        probes.Result
		err           error
		wantProgress  string
		wantAvailable string
		wantObjects   []string
		wantInventory int
	}{
		"Serves": {
			reason: "its own rollout is over, and it is available as long as the line serves", before: good, now: good, serves: serves,
			wantProgress: "False/RolledOut: revision 1 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
			wantInventory: 2,
		},
		"NoLongerServes": {
			reason: "what of it does not serve is reported", before: good, now: bad,
			serves:       probes.Result{Status: probes.False, Message: "Deployment.apps istio-system/plane-0: not available"},
			wantProgress: "False/RolledOut: revision 1 (1.29.0) is rolled out", wantAvailable: "False/ProbeFailed: Deployment.apps istio-system/plane-0: not available",
			wantObjects: []string{"plane-0 ProbeFailed"}, wantInventory: 2,
		},
		"HandedOver": {
			reason: "what the target has reached is not this revision's any more", before: good, now: []phase{{name: "plane", size: 2}}, serves: serves,
			wantProgress: "False/RolledOut: revision 1 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		},
		"NeverSucceeded": {
			reason: "a revision that was replaced before it succeeded is not rolled out any more", before: bad, now: bad, serves: serves,
			wantProgress:  "False/Superseded: a newer revision is rolled out instead; this one is archived when that has succeeded",
			wantAvailable: "False/RollingOut: the revision has not been rolled out completely", wantInventory: 2,
		},
		"ContentUnavailable": {
			reason: "whether it still serves is unknown", before: good, err: lost, serves: serves,
			wantProgress:  "False/ContentUnavailable: ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision",
			wantAvailable: "Unknown/Unknown: ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision",
			wantInventory: 2,
		},
		"InvalidAndReplaced": {
			reason: "what can never be rolled out waits to be archived", before: bad, err: &content.InvalidError{Err: errors.New("no kind")}, serves: serves,
			wantProgress: "False/InvalidSpec: no kind", wantAvailable: "False/RollingOut: the revision has not been rolled out completely",
			wantObjects: []string{"plane-0 ProbeFailed"}, wantInventory: 2,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			revision := older(tc.before...)
			loaded, result := pass(tc.now...)
			if tc.err != nil {
				loaded, result = revisions.Revision{Number: 1}, revisions.RevisionResult{Number: 1}
			}
			frozen := revision.DeepCopy()
			forServing := func(now int64) v1alpha1.RevisionStatus {
				return status.ForServing(revision, loaded, result, tc.serves, tc.err, at(now))
			}
			got := forServing(200)
			if diff := cmp.Diff(frozen, revision); diff != "" {
				t.Errorf("%s: the revision was changed:\n%s", tc.reason, diff)
			}
			again := forServing(200)
			revision.Status = got
			checkRevision(t, revision)
			statustest.Stable(t, tc.reason, got, again, forServing(260))
			for kind, want := range map[string]string{v1alpha1.ConditionProgressing: tc.wantProgress, v1alpha1.ConditionAvailable: tc.wantAvailable} {
				if diff := cmp.Diff(want, statustest.Text(got.Conditions, kind)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, kind, diff)
				}
			}
			var objects []string
			for _, object := range got.Objects {
				objects = append(objects, object.Name+" "+object.Reason)
			}
			if diff := cmp.Diff(tc.wantObjects, objects); diff != "" {
				t.Errorf("%s: objects (-want +got):\n%s", tc.reason, diff)
			}
			if len(got.Inventory) != tc.wantInventory {
				t.Errorf("%s: an inventory of %d objects, want %d", tc.reason, len(got.Inventory), tc.wantInventory)
			}
			if !cmp.Equal(frozen.Status.SucceededAt, got.SucceededAt) || !cmp.Equal(frozen.Status.LastProgressTime, got.LastProgressTime) {
				t.Errorf("%s: its own rollout's times have changed", tc.reason)
			}
		})
	}
}

// Content that is restored is reported as what it was.
func TestForServing_Recovers(t *testing.T) {
	phases := []phase{{name: "plane", objects: []stand{ready}}}
	revision := older(phases...)
	loaded, result := pass(phases...)
	want := status.ForServing(revision, loaded, result, probes.Result{Status: probes.True}, nil, at(200))
	revision.Status = status.ForServing(revision, revisions.Revision{}, revisions.RevisionResult{}, probes.Result{}, errors.New("timeout"), at(300))
	got := status.ForServing(revision, loaded, result, probes.Result{Status: probes.True}, nil, at(400))
	for i := range want.Conditions {
		want.Conditions[i].LastTransitionTime = metav1.Time{}
		got.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status before and after an error (-before +after):\n%s", diff)
	}
}

func TestForOrphan(t *testing.T) {
	const reason = "a revision whose package does not exist says what to do"
	revision := revisionOf(1, phase{name: "plane", size: 1})
	got := status.ForOrphan(revision, at(100))
	again := status.ForOrphan(revision, at(100))
	revision.Status = got
	checkRevision(t, revision)
	statustest.Stable(t, reason, got, again, status.ForOrphan(revision, at(160)))
	for _, kind := range []string{v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable} {
		if got := statustest.Text(got.Conditions, kind); got != "False/PackageMissing: package istiod does not exist: create it, or delete the revision" {
			t.Errorf("%s: %s is %s", reason, kind, got)
		}
	}
}

// removed is a teardown that has come as far as the objects given.
func removed(complete bool, objects ...revisions.RemovedObject) revisions.TeardownResult {
	return revisions.TeardownResult{Objects: objects, Complete: complete}
}

func waitingFor(index int, message string, err error) revisions.RemovedObject {
	return revisions.RemovedObject{ID: objectID("plane", index), Phase: "plane", State: revisions.RemovalWaiting, Message: message, Err: err}
}

func TestForArchiving(t *testing.T) {
	many := make([]revisions.RemovedObject, 40)
	for i := range many {
		many[i] = waitingFor(i, "its deletion was asked for", nil)
	}
	gone := revisions.RemovedObject{ID: objectID("plane", 9), Phase: "plane", State: revisions.RemovalGone}
	tests := map[string]struct {
		reason       string
		phases       []phase
		result       revisions.TeardownResult
		err          error
		wantProgress string
		wantObjects  []string
		wantCount    int
		wantArchived bool
		wantPhase    string
	}{
		"Gone": {
			reason: "with its last object gone the revision is history, as it was at its best", phases: []phase{{name: "plane", objects: []stand{ready, ready}}},
			result: removed(true, gone), wantProgress: "False/Archived: the revision is history", wantArchived: true, wantPhase: "1/1",
		},
		"NeverSucceeded": {
			reason: "history tells how far it came", phases: []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{failing}}},
			result: removed(true, gone), wantProgress: "False/Archived: the revision is history", wantArchived: true, wantPhase: "1/2",
		},
		"Waiting": {
			reason: "what is waited for is named, in the condition and the list", phases: []phase{{name: "plane", objects: []stand{ready}}},
			result:       removed(false, gone, waitingFor(1, "it is being deleted, and waits for its finalizer a/b", nil)),
			wantProgress: "True/Archiving: waits for Deployment.apps istio-system/plane-1 of phase plane: it is being deleted, and waits for its finalizer a/b",
			wantObjects:  []string{"plane-1 Deleting: it is being deleted, and waits for its finalizer a/b"}, wantCount: 1, wantPhase: "1/1",
		},
		"Failing": {
			reason: "an object whose absence is not proven is reported with the cause", phases: []phase{{name: "plane", objects: []stand{ready}}},
			result: removed(false, waitingFor(1, "", errors.New("reading live: timeout"))), err: errors.New("phase plane: timeout"),
			wantProgress: "True/Archiving: waits for Deployment.apps istio-system/plane-1 of phase plane: reading live: timeout",
			wantObjects:  []string{"plane-1 Deleting: reading live: timeout"}, wantCount: 1, wantPhase: "1/1",
		},
		"NotLoaded": {
			reason: "content that cannot be loaded cannot be torn down, and is not marked as gone", phases: []phase{{name: "plane", objects: []stand{ready}}},
			err:          &content.UnavailableError{Slice: "sha256-1", Reason: "does not exist"},
			wantProgress: "True/Archiving: ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision", wantPhase: "1/1",
		},
		"CompleteWithAnError": {
			reason: "an error keeps the mark off", phases: []phase{{name: "plane", objects: []stand{ready}}},
			result: removed(true), err: errors.New("timeout"), wantProgress: "True/Archiving: timeout", wantPhase: "1/1",
		},
		"NothingToSay": {
			reason: "a message is never empty", phases: []phase{{name: "plane", objects: []stand{ready}}}, result: removed(false),
			wantProgress: "True/Archiving: objects that no newer revision contains are deleted, in reverse phase order", wantPhase: "1/1",
		},
		"Many": {
			reason: "the list is bounded", phases: []phase{{name: "plane", objects: []stand{ready}}}, result: removed(false, many...),
			wantProgress: "True/Archiving: waits for Deployment.apps istio-system/plane-0 of phase plane: its deletion was asked for", wantCount: 16, wantPhase: "1/1",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			revision := older(tc.phases...)
			frozen := revision.DeepCopy()
			got := status.ForArchiving(revision, tc.result, tc.err, at(200))
			if diff := cmp.Diff(frozen, revision); diff != "" {
				t.Errorf("%s: the revision was changed:\n%s", tc.reason, diff)
			}
			again := status.ForArchiving(revision, tc.result, tc.err, at(200))
			revision.Status = got
			checkRevision(t, revision)
			if !tc.wantArchived { // what is archived is not looked at again
				statustest.Stable(t, tc.reason, got, again, status.ForArchiving(revision, tc.result, tc.err, at(260)))
			}
			if diff := cmp.Diff(tc.wantProgress, statustest.Text(got.Conditions, v1alpha1.ConditionProgressing)); diff != "" {
				t.Errorf("%s: Progressing (-want +got):\n%s", tc.reason, diff)
			}
			if available := statustest.Text(got.Conditions, v1alpha1.ConditionAvailable); available != "False/Archived: the revision is history" {
				t.Errorf("%s: what is taken away is not available, got %s", tc.reason, available)
			}
			var objects []string
			for _, object := range got.Objects {
				objects = append(objects, fmt.Sprintf("%s %s: %s", object.Name, object.Reason, object.Message))
			}
			if diff := cmp.Diff(tc.wantObjects, objects); diff != "" && tc.wantObjects != nil || len(objects) != tc.wantCount {
				t.Errorf("%s: %d objects, want %d (-want +got):\n%s", tc.reason, len(objects), tc.wantCount, diff)
			}
			if (got.ArchivedAt != nil) != tc.wantArchived || (len(got.Inventory) == 0) != tc.wantArchived {
				t.Errorf("%s: archived at %v with an inventory of %d", tc.reason, got.ArchivedAt, len(got.Inventory))
			}
			if got.Phase != tc.wantPhase || !cmp.Equal(got.SucceededAt, frozen.Status.SucceededAt) {
				t.Errorf("%s: phase %s, succeeded at %v; want %s and %v", tc.reason, got.Phase, got.SucceededAt, tc.wantPhase, frozen.Status.SucceededAt)
			}
		})
	}
}

// Since when an object is waited for stays while it is.
func TestForArchiving_Since(t *testing.T) {
	revision := older(phase{name: "plane", objects: []stand{ready}})
	revision.Status = status.ForArchiving(revision, removed(false, waitingFor(1, "a", nil)), nil, at(200))
	revision.Status = status.ForArchiving(revision, removed(false, waitingFor(0, "x", nil), waitingFor(1, "b", nil)), nil, at(300))
	got := map[string]*metav1.Time{}
	for _, object := range revision.Status.Objects {
		got[object.Name] = new(object.Since)
	}
	if want := map[string]*metav1.Time{"plane-0": new(at(300)), "plane-1": new(at(200))}; !cmp.Equal(want, got) {
		t.Errorf("waiting since (-want +got):\n%s", cmp.Diff(want, got))
	}
}
