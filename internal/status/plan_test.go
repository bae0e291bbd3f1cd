// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
)

// withheld is an observation of a revision of one phase that is withheld, with the
// results that the engine has of its objects.
func withheld(results ...revisions.ObjectResult) status.Observation {
	o := observe(100, phase{name: "plane", size: len(results)})
	o.Unapproved, o.Digest = "not approved", "sha256:x"
	o.Result.Phases[0].Reached = true
	for i, result := range results {
		result.ID = objectID("plane", i)
		o.Result.Phases[0].Objects = append(o.Result.Phases[0].Objects, result)
	}
	return o
}

func TestForTarget_Plan(t *testing.T) {
	o := withheld(
		revisions.ObjectResult{Pending: revisions.OperationCreate, Waiting: "paused: it does not exist", Reason: "it does not exist"},
		revisions.ObjectResult{Pending: revisions.OperationApply, Waiting: "paused: its content is new", Reason: "its content is new"},
		revisions.ObjectResult{Pending: revisions.OperationReplace, Reason: "its selector changes"},
		revisions.ObjectResult{Pending: revisions.OperationAdopt, Reason: "it has no controller"},
		revisions.ObjectResult{Action: revisions.ActionCollision, Reason: "it is another owner's"},
		revisions.ObjectResult{Waiting: "it is being deleted"},
		revisions.ObjectResult{Err: errors.New(strings.Repeat("x", 1000))},
		revisions.ObjectResult{Action: revisions.ActionUnchanged, Record: &revisions.Record{UID: "u"}},
	)
	older := func(number int64, succeeded bool, records map[revisions.ObjectID]revisions.Record, objects ...revisions.Object) revisions.Revision {
		return revisions.Revision{Number: number, Succeeded: succeeded, Records: records, Phases: []revisions.Phase{{Name: "old", Objects: objects}}}
	}
	object := func(name string, index int, retain bool) revisions.Object {
		return revisions.Object{Manifest: manifest(objectID(name, index)), Retain: retain}
	}
	unused := object("old", 3, true)
	unused.DeleteUnused = true
	o.Serving = []revisions.Revision{
		older(2, false, map[revisions.ObjectID]revisions.Record{objectID("old", 1): {}}, object("old", 1, false), object("never-placed", 0, false)),
		older(1, true, nil, object("plane", 0, false), object("old", 1, false), object("old", 2, true), unused),
	}
	revision := revisionOf(3, phase{name: "plane", size: 8})
	revision.Status = status.ForTarget(revision, o)
	checkRevision(t, revision)
	plan := revision.Status.Plan
	if plan == nil {
		t.Fatal("a revision that is withheld has no plan")
	}
	var got []string
	for _, p := range plan.Objects {
		got = append(got, fmt.Sprintf("%s %s of %s: %.40s", p.Action, p.Name, p.Phase, p.Reason))
	}
	want := []string{
		"Create plane-0 of plane: it does not exist",
		"Update plane-1 of plane: its content is new",
		"Replace plane-2 of plane: its selector changes",
		"Adopt plane-3 of plane: it has no controller",
		"Collide plane-4 of plane: it is another owner's",
		"Wait plane-5 of plane: it is being deleted",
		"Unknown plane-6 of plane: " + strings.Repeat("x", 40),
		"Delete old-1 of old: revision 2 contains it, and this one doe",
		"Retain old-2 of old: revision 1 contains it, and this one doe",
		"Retain old-3 of old: revision 1 contains it, and this one doe",
	}
	if reason := plan.Objects[len(plan.Objects)-1].Reason; !strings.HasSuffix(reason, "it is deleted when no custom resource of it exists") {
		t.Errorf("of a definition that may go it says: %s", reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what would be done (-want +got):\n%s", diff)
	}
	summary := "1 create, 1 update, 1 replace, 1 adopt, 1 collide, 1 delete, 2 retain, 1 wait, 1 unknown, 1 unchanged"
	if plan.Summary != summary || plan.Digest != "sha256:x" {
		t.Errorf("the plan of %s says %q, want %q", plan.Digest, plan.Summary, summary)
	}
	if len(plan.Objects[6].Reason) > 256 {
		t.Errorf("a reason has %d bytes, and the API promises 256 at most", len(plan.Objects[6].Reason))
	}
	if message := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing); !strings.Contains(message, "it would do: 1 create, ") {
		t.Errorf("the condition does not sum up the plan: %s", message)
	}
	if len(revision.Status.Inventory) != 0 {
		t.Errorf("what was only looked at is in the inventory, as if the rollout had begun: %v", revision.Status.Inventory)
	}

	o.Unapproved, o.Now = "", at(200)
	if revision.Status = status.ForTarget(revision, o); revision.Status.Plan != nil {
		t.Error("the plan outlives the wait")
	}
}

// A plan lists no more objects than the API takes, and counts all.
func TestForTarget_PlanIsBounded(t *testing.T) {
	results := make([]revisions.ObjectResult, 2048)
	for i := range results {
		results[i].Pending = revisions.OperationCreate
	}
	o := withheld(results...)
	o.Unapproved, o.Pause = "", &v1alpha1.Pause{Reason: "x"}
	revision := revisionOf(3, phase{name: "plane", size: len(results)})
	plan := status.ForTarget(revision, o).Plan
	if plan == nil || len(plan.Objects) != 64 || plan.Summary != "2048 create, 0 unchanged" {
		t.Errorf("the plan of a paused revision is %.200v", plan)
	}
}

func TestForTarget_Interference(t *testing.T) {
	objects := make([]stand, 20)
	for i := range objects {
		objects[i] = ready
	}
	o := observe(100, phase{name: "plane", objects: objects})
	for i := range objects {
		if i == 7 {
			continue // it is not touched
		}
		id := objectID("plane", i)
		record := o.Result.Records[id]
		record.IgnoredFields = []string{".spec.replicas"}
		record.Backoff = &revisions.DriftBackoff{
			Cause: revisions.DriftChanged, Manager: strings.Repeat("m", 300), Fields: []string{".a", ".b", ".c", ".d", ".e", ".f", ".g", ".h", ".i"}, Count: int64(i),
			First: time.Unix(1, 0), Last: time.Unix(int64(50+i), 0),
		}
		o.Result.Records[id] = record
	}
	revision := revisionOf(2, phase{name: "plane", objects: objects})
	got := status.ForTarget(revision, o)
	if len(got.Interference) != 16 {
		t.Fatalf("%d objects are listed, and the API takes 16", len(got.Interference))
	}
	first, last := got.Interference[0], got.Interference[15]
	if first.Name != "plane-19" || last.Name != "plane-3" {
		t.Errorf("the list goes from %s to %s, want those that were changed last", first.Name, last.Name)
	}
	if len(first.Fields) != 8 || len(first.Manager) > 256 || first.Count != 19 || !first.FirstSeen.Equal(new(at(1))) || !first.LastSeen.Equal(new(at(69))) {
		t.Errorf("the first is %+v", first)
	}
	if diff := cmp.Diff([]string{".spec.replicas"}, got.Inventory[0].IgnoredFields); diff != "" {
		t.Errorf("fields that are left to other managers (-want +got):\n%s", diff)
	}
}
