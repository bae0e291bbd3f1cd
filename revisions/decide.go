// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
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
	// OperationAdopt says to read it once more and to apply it over exactly that state.
	OperationAdopt Operation = "Adopt"
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
	// Content is the digest of what is to be applied.
	Content string
	// Record is what is known since the object was applied last, nil when nothing is.
	Record *Record
	// CollisionProtection is what to do if the object is not ours.
	CollisionProtection CollisionProtection
	// Retain says that the object gets no owner reference.
	Retain bool
}

// Verdict is a decision and its reason.
type Verdict struct {
	// Operation is what to do.
	Operation Operation
	// Reason is why, in words for a status message.
	Reason string
	// Remedy is what the reader can do about it, for a refusal.
	Remedy string
}

// decide says what to do about an object. It is pure: the golden file
// testdata/decide.txt holds its whole table.
func decide(q Question) Verdict {
	if q.Current == nil {
		return Verdict{Operation: OperationCreate, Reason: "it does not exist"}
	}
	if q.Current.Deleting {
		return Verdict{Operation: OperationWait, Reason: "it is being deleted, and is created again when it is gone"}
	}
	switch controlOf(q.Current, q.Owner, q.Record, q.Retain) {
	case ControlOurs:
		return compare(q)
	case ControlRetained:
		return Verdict{Operation: OperationAdopt, Reason: fmt.Sprintf("a %s of this name has left it in place", q.Owner.Kind)}
	case ControlForeign:
		return collideForeign(q)
	default:
		return collideNobody(q)
	}
}

// compare decides about an object that is ours, from digests alone: what was
// applied against what is wanted, and our managedFields entry then against now.
func compare(q Question) Verdict {
	switch {
	case q.Record == nil || q.Record.UID != q.Current.UID:
		return Verdict{Operation: OperationApply, Reason: "nothing is on record of what was applied"}
	case q.Record.Content != q.Content:
		return Verdict{Operation: OperationApply, Reason: "its content is new"}
	case q.Record.Fields != q.Current.Fields:
		return Verdict{Operation: OperationApply, Reason: "someone changed or removed a field of it"}
	default:
		return Verdict{Operation: OperationNone, Reason: "it is as it should be"}
	}
}

func collideForeign(q Question) Verdict {
	if q.CollisionProtection == CollisionNone {
		return Verdict{Operation: OperationAdopt, Reason: foreignText(q.Current, q.Owner) + ", and is taken over, as its collision protection is None"}
	}
	remedy := "delete it or that owner, take the object out of the revision, or set its collisionProtection to None to take it over"
	if q.Current.Controller == nil {
		remedy = "take it out of one of the two, remove its label " + q.Owner.Label + ", or set its collisionProtection to None to take it over"
	}
	return Verdict{Operation: OperationRefuse, Reason: foreignText(q.Current, q.Owner), Remedy: remedy}
}

func collideNobody(q Question) Verdict {
	if q.CollisionProtection == CollisionIfNoController || q.CollisionProtection == CollisionNone {
		return Verdict{Operation: OperationAdopt, Reason: "it has no controller, and its collision protection is " + string(q.CollisionProtection)}
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
		return fmt.Sprintf("its label says that it belongs to %s %s", owner.Kind, current.Label)
	}
	return fmt.Sprintf("it is controlled by %s %s (%s, uid %s)", ref.Kind, ref.Name, ref.APIVersion, ref.UID)
}
