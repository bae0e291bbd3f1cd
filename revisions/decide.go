// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"slices"
	"time"
)

// Action is what became of an object.
type Action string

// The closed set of actions.
const (
	ActionCreated   Action = "Created"
	ActionUpdated   Action = "Updated"
	ActionUnchanged Action = "Unchanged"
	ActionAdopted   Action = "Adopted"
	ActionReleased  Action = "Released"
	ActionDeleted   Action = "Deleted"
	ActionCollision Action = "Collision"
)

// Operation is what to do about an object.
type Operation string

const (
	// OperationNone says that it is as it should be.
	OperationNone Operation = "None"
	// OperationCreate says to apply it, provided that it does not exist.
	OperationCreate Operation = "Create"
	// OperationApply says to apply it over the object of this UID, which is ours.
	OperationApply Operation = "Apply"
	// OperationYield says to leave it as it is, and to leave fields of it to whoever has
	// set them from now on.
	OperationYield Operation = "Yield"
	// OperationAdopt says to read it once more and to apply it over exactly that state.
	OperationAdopt Operation = "Adopt"
	// OperationDefer says to leave it as it is until a later phase, to whatever revision has
	// it.
	OperationDefer Operation = "Defer"
	// OperationReplace says to delete it and to create it anew.
	OperationReplace Operation = "Replace"
	// OperationWait says that it can be applied only after something else has happened.
	OperationWait Operation = "Wait"
	// OperationRefuse says to leave it as it is, byte for byte.
	OperationRefuse Operation = "Refuse"
)

// Question is all that a decision depends on.
type Question struct {
	// Current is the object on the cluster, nil when it is absent.
	Current *Current
	// Owner is who wants the object.
	Owner Owner
	// Content is the digest of what is to be applied, without the fields that have been
	// yielded before.
	Content string
	// Record is what is known since the object was applied last, nil when nothing is.
	Record *Record
	// CollisionProtection is what to do if the object is not ours.
	CollisionProtection CollisionProtection
	// Retain says that the object gets no owner reference.
	Retain bool
	// ForwardOnly says that an object that is ours is left as a newer content has made it.
	ForwardOnly bool
	// Until is the later phase that the object waits for if it is ours, empty for none, and
	// Held says that a serving revision keeps it meanwhile.
	Until string
	Held  bool
	// Rivals have fields of the manifest that are not ours any more. They need be known
	// only when our managedFields entry has changed.
	Rivals []Rival
	// Yielding is how many of these fields are left to them.
	Yielding int
	// Excess are managers that have added fields at or below exclusive paths.
	Excess []Rival
	// Once says that the object is not created again when it is gone, until its content
	// changes, and Completed that it has done its work, which comes to the same.
	Once, Completed bool
	// Now is the time, the zero value when repairs are not spaced.
	Now time.Time
}

// Verdict is a decision and its reason.
type Verdict struct {
	// Operation is what to do.
	Operation Operation
	// Reason is why, in words for a status message.
	Reason string
	// Remedy is what the reader can do about it, for a refusal.
	Remedy string
	// Drift is how the object ceased to be as it was left, empty when it did not.
	Drift DriftCause
	// Retry is when a wait is over, zero when an event will tell.
	Retry time.Time
}

// decide says what to do about an object. It is pure: the golden file
// testdata/decide.txt holds its whole table.
func decide(q Question) Verdict {
	if q.Current == nil && q.Until != "" && q.Held {
		return Verdict{Operation: OperationDefer, Reason: "it does not exist, and until phase " + q.Until + " is reached, a serving revision has it"}
	}
	if q.Current == nil {
		return absent(q)
	}
	if q.Current.Deleting {
		if q.rests() && controlOf(q.Current, q.Owner, q.Record, q.Retain) == ControlOurs {
			return Verdict{Operation: OperationNone, Reason: q.restReason()}
		}
		return Verdict{Operation: OperationWait, Reason: "it is being deleted, and is created again when it is gone"}
	}
	switch controlOf(q.Current, q.Owner, q.Record, q.Retain) {
	case ControlOurs:
		return compare(q)
	case ControlRetained:
		return repair(q, DriftDeleted, OperationAdopt, fmt.Sprintf("a %s of this name has left it in place", q.Owner.Kind))
	case ControlReleased:
		return Verdict{
			Operation: OperationRefuse,
			Reason:    fmt.Sprintf("a %s of this name had it, and its owner reference was taken off to keep it", q.Owner.Kind),
			Remedy:    "remove its label " + q.Owner.Label + " to let it be adopted by its collisionProtection, delete it, or take it out of the revision",
		}
	case ControlForeign:
		return collideForeign(q)
	default:
		return collideNobody(q)
	}
}

// placed says that what is wanted was put in place before.
func (q *Question) placed() bool { return q.Record != nil && q.Record.Content == q.Content }

// rests says that an object need not be there any more.
func (q *Question) rests() bool {
	return q.placed() && (q.Once || q.Completed)
}

func (q *Question) restReason() string {
	if q.Completed {
		return "it has completed, and runs again when its content changes"
	}
	return "it was created once, and is created again when its content changes"
}

// absent decides about an object that does not exist.
func absent(q Question) Verdict {
	switch {
	case q.rests():
		return Verdict{Operation: OperationNone, Reason: q.restReason()}
	case q.placed():
		return repair(q, DriftDeleted, OperationCreate, "it was deleted")
	default:
		return Verdict{Operation: OperationCreate, Reason: "it does not exist"}
	}
}

// repair is a write that puts back what was in place before: at once, or later when the
// object does not stay as it is left. It is no repair where the content is new.
func repair(q Question, cause DriftCause, operation Operation, reason string) Verdict {
	switch {
	case !q.placed():
		return Verdict{Operation: operation, Reason: reason}
	case !q.Now.IsZero() && q.Record.Backoff.Slowed(q.Now):
		return Verdict{Operation: OperationWait, Drift: q.Record.Backoff.Cause, Retry: q.Record.Backoff.Next, Reason: q.Record.Backoff.String()}
	default:
		return Verdict{Operation: operation, Drift: cause, Reason: reason}
	}
}

// compare decides about an object that is ours, from digests alone: what was
// applied against what is wanted, and our managedFields entry then against now.
func compare(q Question) Verdict {
	switch {
	case q.Until != "":
		return Verdict{Operation: OperationDefer, Reason: "it stays as it is until phase " + q.Until + " is reached"}
	case q.ForwardOnly:
		return Verdict{Operation: OperationNone, Reason: "a rollback does not take it back"}
	case q.Record == nil || q.Record.UID != q.Current.UID:
		return repair(q, DriftDeleted, OperationApply, "nothing is on record of what was applied")
	case q.Record.Content != q.Content:
		return Verdict{Operation: OperationApply, Reason: "its content is new"}
	case q.Record.Fields != q.Current.Fields, len(q.Excess) > 0:
		return drifted(q)
	case q.Current.rewritten(q.Record.State):
		return repair(q, DriftChanged, OperationApply, "a client may have applied it as "+FieldOwner)
	default:
		return Verdict{Operation: OperationNone, Reason: "it is as it should be"}
	}
}

// changed are the managers that have changed or added what is to be undone.
func (q Question) changed() []Rival { return slices.Concat(q.Rivals, q.Excess) }

// drifted decides about an object that other managers have changed.
func drifted(q Question) Verdict {
	lost, counted := fieldsLost(q.Record.Fields, q.Current.Fields)
	if counted && len(q.Excess) == 0 && q.Yielding > 0 && lost == q.Yielding {
		return Verdict{Operation: OperationYield, Reason: driftReason(q.Rivals) + ", who it is left to"}
	}
	return repair(q, DriftChanged, OperationApply, driftReason(q.changed()))
}

// collideForeign decides about an object of another owner. One that a revision has taken
// over and lost again is not taken back by the same revision: two owners that both may
// take it over would do so in turn for ever.
func collideForeign(q Question) Verdict {
	if q.placed() && !q.Record.Earlier {
		remedy := "take the object out of one of the two, or remove that owner reference from it to have it back"
		if q.Current.Controller == nil {
			remedy = "take it out of one of the two, or remove its label " + q.Owner.Label + " to have it back"
		}
		return Verdict{
			Operation: OperationRefuse, Drift: DriftTakenOver, Remedy: remedy,
			Reason: foreignText(q.Current, q.Owner) + fmt.Sprintf(", which has taken it over from this %s", q.Owner.Kind),
		}
	}
	if q.CollisionProtection == CollisionNone {
		return repair(q, DriftTakenOver, OperationAdopt, foreignText(q.Current, q.Owner)+", and is taken over, as its collision protection is None")
	}
	remedy := "delete it or that owner, take the object out of the revision, or set its collisionProtection to None to take it over"
	if q.Current.Controller == nil {
		remedy = "take it out of one of the two, remove its label " + q.Owner.Label + ", or set its collisionProtection to None to take it over"
	}
	return Verdict{Operation: OperationRefuse, Reason: foreignText(q.Current, q.Owner), Remedy: remedy}
}

func collideNobody(q Question) Verdict {
	if q.CollisionProtection == CollisionIfNoController || q.CollisionProtection == CollisionNone {
		return repair(q, DriftDeleted, OperationAdopt, "it has no controller, and its collision protection is "+string(q.CollisionProtection))
	}
	return Verdict{
		Operation: OperationRefuse,
		Reason:    "it exists already, and was not created by this " + q.Owner.Kind,
		Remedy:    "delete it, take it out of the revision, or set its collisionProtection to IfNoController to adopt it",
	}
}

// foreignText says who has an object that is not ours.
func foreignText(current *Current, owner Owner) string {
	ref := current.Controller
	if ref == nil {
		return fmt.Sprintf("its label says that it belongs to %s %q", owner.Kind, current.Label)
	}
	return fmt.Sprintf("it is controlled by %s %s (%s, uid %s)", ref.Kind, ref.Name, ref.APIVersion, ref.UID)
}
