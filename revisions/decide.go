// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// OperationNone: it is as it should be.
	OperationNone Operation = "None"
	// OperationCreate: apply it, provided that it does not exist.
	OperationCreate Operation = "Create"
	// OperationApply: apply it over the object of this UID, which is ours.
	OperationApply Operation = "Apply"
	// OperationAdopt: read it once more and apply it over exactly that state.
	OperationAdopt Operation = "Adopt"
	// OperationWait: it can be applied only after something else has happened.
	OperationWait Operation = "Wait"
	// OperationRefuse: leave it as it is, byte for byte.
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
	control := controlOf(q.Current, q.Owner, q.Record, q.Retain)
	if q.Current.Deleting {
		return Verdict{Operation: OperationWait, Reason: "it is being deleted, and is created again when it is gone"}
	}
	switch control {
	case ControlOurs:
		return compare(q)
	case ControlRetained:
		return Verdict{Operation: OperationAdopt, Reason: fmt.Sprintf("an earlier %s of the same name had retained it", q.Owner.Kind)}
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
	who := controllerText(q.Current.Controller)
	if q.CollisionProtection == CollisionNone {
		return Verdict{Operation: OperationAdopt, Reason: "it is taken over from " + who + ", as its collision protection is None"}
	}
	return Verdict{
		Operation: OperationRefuse,
		Reason:    "it is controlled by " + who,
		Remedy:    "delete it or that owner, take the object out of the revision, or set its collisionProtection to None to take it over",
	}
}

func collideNobody(q Question) Verdict {
	switch q.CollisionProtection {
	case CollisionIfNoController, CollisionNone:
		return Verdict{Operation: OperationAdopt, Reason: "it has no controller, and its collision protection is " + string(q.CollisionProtection)}
	}
	reason := "it exists already, and was not created by this " + q.Owner.Kind
	if q.Current.Label != "" && q.Current.Label != q.Owner.Name {
		reason = fmt.Sprintf("it exists already, and its label says that it belongs to %s %s", q.Owner.Kind, q.Current.Label)
	}
	return Verdict{
		Operation: OperationRefuse,
		Reason:    reason,
		Remedy:    "delete it, take it out of the revision, or set its collisionProtection to IfNoController to adopt it",
	}
}

func controllerText(ref *metav1.OwnerReference) string {
	return fmt.Sprintf("%s %s (%s, uid %s)", ref.Kind, ref.Name, ref.APIVersion, ref.UID)
}
