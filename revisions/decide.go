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
	// OperationIgnore says to leave it as it is, and to ignore fields of it that another
	// manager has set, from now on.
	OperationIgnore Operation = "Ignore"
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

// decisionInput is all that a decision depends on.
type decisionInput struct {
	// Current is the object on the cluster, nil when it is absent.
	Current *Current
	// Owner is who wants the object.
	Owner Owner
	// Content is the digest of what is to be applied, without the fields that are
	// ignored already.
	Content string
	// Record is what is known since the object was applied last, nil when nothing is.
	Record *Record
	// CollisionProtection is what to do if the object is not ours.
	CollisionProtection CollisionProtection
	// Retain says that the object gets no owner reference.
	Retain bool
	// ForwardOnly says that an object that is ours is left as a newer content has made it.
	ForwardOnly bool
	// UpdatePhase is the later phase that the object waits for if it is ours, empty for none,
	// and KeptByServing says that a serving revision keeps it meanwhile.
	UpdatePhase   string
	KeptByServing bool
	// Conflicting have fields of the manifest that are not ours any more. They need be known
	// only when our managedFields entry has changed.
	Conflicting []ConflictingManager
	// Ignorable is how many of these fields are left to them.
	Ignorable int
	// Excess are managers that have added fields at or below exclusive paths.
	Excess []ConflictingManager
	// Once says that the object is not created again when it is gone, until its content
	// changes, and Completed that it has done its work, which comes to the same.
	Once, Completed bool
	// Now is the time, the zero value when repairs are not spaced.
	Now time.Time
}

// decision is what to do about an object, and why.
type decision struct {
	// Operation is what to do.
	Operation Operation
	// Reason is why, in words for a status message.
	Reason string
	// Remedy is what the reader can do about it, for a refusal.
	Remedy string
	// Drift is how the object ceased to be as it was left, empty when it did not.
	Drift DriftCause
	// Retry is when a wait is over, zero when a watch event ends it.
	Retry time.Time
}

// decide says what to do about an object. It is pure: the golden file
// testdata/decide.txt holds its whole table.
func decide(in decisionInput) decision {
	if in.Current == nil && in.UpdatePhase != "" && in.KeptByServing {
		return decision{Operation: OperationDefer, Reason: "it does not exist, and until phase " + in.UpdatePhase + " is reached, a serving revision has it"}
	}
	if in.Current == nil {
		return absent(in)
	}
	if in.Current.Deleting {
		if in.isDone() && controlOf(in.Current, in.Owner, in.Record, in.Retain) == ControlOurs {
			return decision{Operation: OperationNone, Reason: in.doneReason()}
		}
		return decision{Operation: OperationWait, Reason: "it is being deleted, and is created again afterwards"}
	}
	switch controlOf(in.Current, in.Owner, in.Record, in.Retain) {
	case ControlOurs:
		return compare(in)
	case ControlRetained:
		return repair(in, DriftDeleted, OperationAdopt, fmt.Sprintf("a %s of this name has left it in place", in.Owner.Kind))
	case ControlReleased:
		return decision{
			Operation: OperationRefuse,
			Reason:    fmt.Sprintf("a %s of this name had it, and its owner reference was taken off to keep it", in.Owner.Kind),
			Remedy:    "remove its label " + in.Owner.Label + " to let it be adopted by its collisionProtection, delete it, or remove it from the revision",
		}
	case ControlForeign:
		return collideForeign(in)
	default:
		return collideUncontrolled(in)
	}
}

// placed says that what is wanted was put in place before.
func (in *decisionInput) placed() bool { return in.Record != nil && in.Record.Content == in.Content }

// isDone says that an object need not be there any more.
func (in *decisionInput) isDone() bool {
	return in.placed() && (in.Once || in.Completed)
}

func (in *decisionInput) doneReason() string {
	if in.Completed {
		return "it has completed, and runs again when its content changes"
	}
	return "it was created once, and is created again when its content changes"
}

// absent decides about an object that does not exist.
func absent(in decisionInput) decision {
	switch {
	case in.isDone():
		return decision{Operation: OperationNone, Reason: in.doneReason()}
	case in.placed():
		return repair(in, DriftDeleted, OperationCreate, "it was deleted")
	default:
		return decision{Operation: OperationCreate, Reason: "it does not exist"}
	}
}

// repair is a write that puts back what was in place before: at once, or later when the
// object does not stay as it is left. It is no repair where the content is new.
func repair(in decisionInput, cause DriftCause, operation Operation, reason string) decision {
	switch {
	case !in.placed():
		return decision{Operation: operation, Reason: reason}
	case !in.Now.IsZero() && in.Record.Backoff.Slowed(in.Now):
		return decision{Operation: OperationWait, Drift: in.Record.Backoff.Cause, Retry: in.Record.Backoff.Next, Reason: in.Record.Backoff.String()}
	default:
		return decision{Operation: operation, Drift: cause, Reason: reason}
	}
}

// compare decides about an object that is ours, from digests alone: what was
// applied against what is wanted, and our managedFields entry then against now.
func compare(in decisionInput) decision {
	switch {
	case in.UpdatePhase != "":
		return decision{Operation: OperationDefer, Reason: "it stays as it is until phase " + in.UpdatePhase + " is reached"}
	case in.ForwardOnly:
		return decision{Operation: OperationNone, Reason: "a rollback does not take it back"}
	case in.Record == nil || in.Record.UID != in.Current.UID:
		return repair(in, DriftDeleted, OperationApply, "nothing is on record of what was applied")
	case in.Record.Content != in.Content:
		return decision{Operation: OperationApply, Reason: "its content is new"}
	case in.Record.Fields != in.Current.Fields, len(in.Excess) > 0:
		return drifted(in)
	case in.Current.rewritten(in.Record.State):
		return unrewritten(in)
	default:
		return decision{Operation: OperationNone, Reason: "it is as it should be"}
	}
}

// changed are the managers that have changed or added what is to be undone.
func (in decisionInput) changed() []ConflictingManager {
	return slices.Concat(in.Conflicting, in.Excess)
}

// drifted decides about an object that other managers have changed.
func drifted(in decisionInput) decision {
	lost, counted := fieldsLost(in.Record.Fields, in.Current.Fields)
	if counted && len(in.Excess) == 0 && in.Ignorable > 0 && lost == in.Ignorable {
		return decision{Operation: OperationIgnore, Reason: driftReason(in.Conflicting) + ", which is left to that manager"}
	}
	return repair(in, DriftChanged, OperationApply, driftReason(in.changed()))
}

// collideForeign decides about an object of another owner. One that a revision has taken
// over and lost again is not adopted by the same revision once more: two owners that both
// may adopt it would do so in turn for ever.
func collideForeign(in decisionInput) decision {
	if in.placed() && !in.Record.Earlier {
		remedy := "take the object out of one of the two, or remove that owner reference from it to have it back"
		if in.Current.Controller == nil {
			remedy = "remove it from one of the two, or remove its label " + in.Owner.Label + " to have it back"
		}
		return decision{
			Operation: OperationRefuse, Drift: DriftTakenOver, Remedy: remedy,
			Reason: foreignText(in.Current, in.Owner) + fmt.Sprintf(", which has taken it over from this %s", in.Owner.Kind),
		}
	}
	if in.CollisionProtection == CollisionNone {
		return repair(in, DriftTakenOver, OperationAdopt, foreignText(in.Current, in.Owner)+", and is taken over, as its collision protection is None")
	}
	remedy := "delete it or that owner, remove the object from the revision, or set its collisionProtection to None to take it over"
	if in.Current.Controller == nil {
		remedy = "remove it from one of the two, remove its label " + in.Owner.Label + ", or set its collisionProtection to None to take it over"
	}
	return decision{Operation: OperationRefuse, Reason: foreignText(in.Current, in.Owner), Remedy: remedy}
}

func collideUncontrolled(in decisionInput) decision {
	if in.CollisionProtection == CollisionIfNoController || in.CollisionProtection == CollisionNone {
		return repair(in, DriftDeleted, OperationAdopt, "it has no controller, and its collision protection is "+string(in.CollisionProtection))
	}
	return decision{
		Operation: OperationRefuse,
		Reason:    "it exists already, and was not created by this " + in.Owner.Kind,
		Remedy:    "delete it, remove it from the revision, or set its collisionProtection to IfNoController to adopt it",
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
