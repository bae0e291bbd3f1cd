// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/strata-run/strata/revisions/probes"
)

// Result is what one pass has found and done.
type Result struct {
	// Target is about the newest revision.
	Target RevisionResult
	// Serving are about the older ones, in the order given.
	Serving []RevisionResult
	// Serves says whether the operand serves, from whichever revision each of its
	// objects is now, and if not, which object does not.
	Serves probes.Result
}

// RevisionResult is about one revision.
type RevisionResult struct {
	// Number is that of the revision.
	Number int64
	// Phases are all phases of the revision, in order.
	Phases []PhaseResult
	// Records are what is known now of the objects that it has put in place.
	Records map[ObjectID]Record
}

// Blocker is an object of another owner that is in the way of one of the history.
type Blocker struct {
	// ID and Version say which object.
	ID      ObjectID
	Version string
	// ResourceVersion is that of the state that was found.
	ResourceVersion string
}

// Blockers are the objects that are in the way. No watch shows that one of them
// has changed, as they do not belong to the owner.
func (r Result) Blockers() []Blocker {
	var blockers []Blocker
	for _, revision := range append([]RevisionResult{r.Target}, r.Serving...) {
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				if object.Action == ActionCollision {
					blockers = append(blockers, Blocker{ID: object.ID, Version: object.Version, ResourceVersion: object.Blocker})
				}
			}
		}
	}
	return blockers
}

// Complete says that every phase is complete.
func (r RevisionResult) Complete() bool {
	for _, phase := range r.Phases {
		if !phase.Complete() {
			return false
		}
	}
	return true
}

// record takes in what became of objects. What the revision did to an object
// first is what stands in its record. A paused revision takes nothing over.
func (r RevisionResult) record(objects []ObjectResult, paused bool) {
	for _, object := range objects {
		first, known := r.Records[object.ID]
		if object.Record == nil && known && object.Backoff != nil {
			first.Backoff = object.Backoff // also of what cannot be put back
			r.Records[object.ID] = first
		}
		if object.Record == nil || paused && !known {
			continue
		}
		record := *object.Record
		if known && first.UID == record.UID {
			record.Action = first.Action
		}
		r.Records[object.ID] = record
	}
}

// PhaseResult is about one phase.
type PhaseResult struct {
	// Name is that of the phase.
	Name string
	// Size is how many objects the phase has.
	Size int
	// Reached says that the objects of the phase were looked at.
	Reached bool
	// Objects are the results, in the order of the phase; empty when not reached.
	// For a serving revision they are those that no newer revision has reached.
	Objects []ObjectResult
}

// Complete says that every object is in place with its probe True.
func (p PhaseResult) Complete() bool {
	return p.Reached && p.Ready() == p.Size
}

// Ready is how many objects are in place with their probe True.
func (p PhaseResult) Ready() int {
	ready := 0
	for _, object := range p.Objects {
		if object.Ready() {
			ready++
		}
	}
	return ready
}

// ObjectResult is about one object.
type ObjectResult struct {
	// ID and Version say which object.
	ID      ObjectID
	Version string
	// Action is what became of it; empty when it is not in place.
	Action Action
	// Reason is why, in words.
	Reason string
	// Remedy is what to do about a collision.
	Remedy string
	// Waiting says what has to happen before it can be applied.
	Waiting string
	// Blocker is the resourceVersion of the object that a collision is about: another
	// one may be no collision any more.
	Blocker string
	// Pending is what would be done about it, were its revision not paused; empty when
	// nothing would.
	Pending Operation
	// Deferred says that it stays as it is until a later phase: nothing of the revision was
	// applied.
	Deferred bool
	// Backoff is set for an object that was not as it was left, or whose repairs are
	// slowed; nil for others.
	Backoff *DriftBackoff
	// Repaired says that the object was written as it was not as it was left.
	Repaired bool
	// TakenOver says that another controller was found to have taken the object over.
	TakenOver bool
	// Done says that the object is gone, and need not be there.
	Done bool
	// Excess are the managers that were found to have fields at or below exclusive ones.
	Excess []ConflictingManager
	// Retry is when to look at it again although nothing changes; zero for never.
	Retry time.Time
	// Record is what is known of it now, nil when it is not in place.
	Record *Record
	// Probe says whether it is ready, Serves whether it serves.
	Probe, Serves probes.Result
	// Err is what kept it from being applied.
	Err error
}

// InPlace says that the object is on the cluster as it should be in this phase.
func (o ObjectResult) InPlace() bool {
	return (o.Record != nil || o.Deferred && o.Action == ActionUnchanged) && o.Err == nil
}

// Ready says that the object is in place with its probe True.
func (o ObjectResult) Ready() bool { return o.InPlace() && o.Probe.Status == probes.True }

// Wrote says that the object was written in this pass.
func (o ObjectResult) Wrote() bool {
	return o.Action == ActionCreated || o.Action == ActionUpdated || o.Action == ActionAdopted
}

// String is the result on one line, for logs and transcripts.
func (o ObjectResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", o.ID)
	switch {
	case o.Err != nil:
		fmt.Fprintf(&b, "error: %v", o.Err)
	case o.Waiting != "":
		fmt.Fprintf(&b, "waits: %s", o.Waiting)
	default:
		fmt.Fprintf(&b, "%s: %s", o.Action, o.Reason)
	}
	if o.InPlace() && o.Probe.Status != probes.True {
		fmt.Fprintf(&b, "; probe %s: %s", o.Probe.Status, o.Probe.Message)
	}
	return b.String()
}

// pendingResult is a result in which nothing was looked at yet.
func pendingResult(in Rollout) Result {
	result := Result{Target: pendingRevision(in.Target), Serves: probes.Result{Status: probes.Unknown, Message: "not checked"}}
	for _, serving := range in.Serving {
		result.Serving = append(result.Serving, pendingRevision(serving))
	}
	return result
}

func pendingRevision(r Revision) RevisionResult {
	result := RevisionResult{Number: r.Number, Records: make(map[ObjectID]Record, len(r.Records)), Phases: make([]PhaseResult, len(r.Phases))}
	maps.Copy(result.Records, r.Records)
	for i, phase := range r.Phases {
		result.Phases[i] = PhaseResult{Name: phase.Name, Size: len(phase.Objects)}
	}
	return result
}
