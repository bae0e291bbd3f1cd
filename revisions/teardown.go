// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Teardown says what to take away.
type Teardown struct {
	// Owner owns the objects.
	Owner Owner
	// Revision is the one whose objects go.
	Revision Revision
	// Keep are objects that other revisions still want.
	Keep map[ObjectID]bool
	// Gone are objects that an earlier pass has proven gone. They are not asked for again.
	Gone map[ObjectID]bool
	// OwnerGoes says that the owner is being deleted, so that the garbage collector takes
	// what carries its owner reference.
	OwnerGoes bool
	// Orphan leaves every object and takes our label and owner reference off it.
	Orphan bool
}

// Removal is where an object stands that is to go.
type Removal string

const (
	// RemovalGone means that a live read did not find it.
	RemovalGone Removal = "Gone"
	// RemovalWaiting means that it is being deleted, or its state could not be proven.
	RemovalWaiting Removal = "Waiting"
	// RemovalRetained means that it stays on purpose.
	RemovalRetained Removal = "Retained"
	// RemovalReleased means that it stays, and no longer carries our label and owner reference.
	RemovalReleased Removal = "Released"
	// RemovalForeign means that it has another owner, and was left alone.
	RemovalForeign Removal = "Foreign"
)

// RemovedObject is where one object stands.
type RemovedObject struct {
	// ID says which object, Phase in which phase it stands.
	ID    ObjectID
	Phase string
	// State is where it stands.
	State Removal
	// Deleted says that a delete was sent in this pass.
	Deleted bool
	// Message says what is waited for.
	Message string
	// Err is what kept it from being removed.
	Err error
}

// TeardownResult is what one pass has found and done.
type TeardownResult struct {
	// Objects are those that were looked at, of the last phases first.
	Objects []RemovedObject
	// Complete says that nothing is left to do.
	Complete bool
}

// Waiting are the objects that are still there and ought to go.
func (r TeardownResult) Waiting() []RemovedObject {
	return slices.DeleteFunc(slices.Clone(r.Objects), func(o RemovedObject) bool {
		return o.State != RemovalWaiting
	})
}

// Teardown makes one pass at taking away a revision's objects: the last phase
// first, and the next only when the one after it is gone. Each object is read
// live first, and deleted on condition that it is still in that state.
//
// A revision that is not valid is torn down like any other, as it may have been
// valid by the rules of before. What names no object is passed over.
func (e *Engine) Teardown(ctx context.Context, in Teardown) (TeardownResult, error) {
	result := TeardownResult{}
	if err := in.Owner.validate(); err != nil {
		return result, err
	}
	in.Revision = in.Revision.Prepared()
	var errs []error
	for _, phase := range slices.Backward(in.Revision.Phases) {
		going := phase.only(func(id ObjectID) bool { return !in.Keep[id] }).Objects
		removed := make([]RemovedObject, len(going))
		e.each(len(going), func(j int) {
			if id := going[j].prepared.id; in.Gone[id] {
				removed[j] = RemovedObject{ID: id, Phase: phase.Name, State: RemovalGone}
				return
			}
			removed[j] = e.remove(ctx, in, phase.Name, going[j])
			e.config.Listener.removed(in.Owner, phase.Name, removed[j])
		})
		waiting := false
		for _, object := range removed {
			result.Objects = append(result.Objects, object)
			waiting = waiting || object.State == RemovalWaiting
			if object.Err != nil {
				errs = append(errs, fmt.Errorf("phase %s: %s: %w", phase.Name, object.ID, object.Err))
			}
		}
		if waiting {
			return result, errors.Join(errs...)
		}
	}
	result.Complete = true
	return result, errors.Join(errs...)
}
