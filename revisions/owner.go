// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Current is what decide needs to know of an object on the cluster. All of it is
// metadata.
type Current struct {
	// UID and ResourceVersion are those of the object.
	UID             types.UID
	ResourceVersion string
	// Controller is the owner reference with controller: true, nil without one.
	Controller *metav1.OwnerReference
	// Label is the value of the owner's label, empty without one.
	Label string
	// Fields is the digest of our managedFields entry, empty when there is none.
	Fields string
	// State is what a later apply of ours changes in any case, see rewritten.go. Applied is the
	// second of our last apply, and Others when another manager has written to it last.
	State   string
	Applied time.Time
	Others  OtherWrites
	// Deleting says that a deletionTimestamp is set.
	Deleting bool
}

// currentOf reads the metadata of an object, nil for nil.
func currentOf(obj *unstructured.Unstructured, owner Owner) *Current {
	if obj == nil {
		return nil
	}
	label, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "labels", owner.Label)
	value, _ := label.(string)
	entry := ownEntry(obj, owner.manager())
	return &Current{
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Controller:      controllerOf(obj),
		Label:           value,
		Fields:          entry.digest,
		State:           entry.state,
		Applied:         entry.applied(),
		Others:          entry.others,
		Deleting:        obj.GetDeletionTimestamp() != nil,
	}
}

// controllerOf is the owner reference with controller: true, nil without one.
func controllerOf(obj *unstructured.Unstructured) *metav1.OwnerReference {
	references, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "ownerReferences")
	list, _ := references.([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if controller, _ := fields["controller"].(bool); !controller {
			continue
		}
		text := func(field string) string {
			value, _ := fields[field].(string)
			return value
		}
		return &metav1.OwnerReference{APIVersion: text("apiVersion"), Kind: text("kind"), Name: text("name"), UID: types.UID(text("uid"))}
	}
	return nil
}

// Control says whose an object is.
type Control string

const (
	// ControlOurs means that its controller is the owner, by UID, or it has no controller,
	// is the very object that is on record, and its label names no other owner.
	ControlOurs Control = "Ours"
	// ControlRetained means that it has no controller and carries the owner's label and our
	// managedFields entry: an owner of the same name has left it behind.
	ControlRetained Control = "Retained"
	// ControlReleased means the same of an object that is not to be retained: who
	// removed the owner reference wants to keep it.
	ControlReleased Control = "Released"
	// ControlNone means that it has no controller, and nothing proves that it is ours.
	ControlNone Control = "None"
	// ControlForeign means that it has another controller, or none and its label
	// names another owner, who retains it.
	ControlForeign Control = "Foreign"
)

// controlOf says whose an object is. Our label alone proves nothing, as every client can
// set it. Another owner's label is respected, so that two owners that retain the
// same object do not write it in turn.
func controlOf(current *Current, owner Owner, record *Record, retain bool) Control {
	switch {
	case current.Controller != nil && current.Controller.UID == owner.UID:
		return ControlOurs
	case current.Controller != nil, current.Label != "" && current.Label != owner.Name:
		return ControlForeign
	case record != nil && record.UID == current.UID:
		return ControlOurs
	case current.Label == owner.Name && current.Fields != "" && retain:
		return ControlRetained
	case current.Label == owner.Name && current.Fields != "":
		return ControlReleased
	default:
		return ControlNone
	}
}
