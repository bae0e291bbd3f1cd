// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
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
	// Deleting says that a deletionTimestamp is set.
	Deleting bool
}

// currentOf reads the metadata of an object, nil for nil.
func currentOf(obj *unstructured.Unstructured, owner Owner) *Current {
	if obj == nil {
		return nil
	}
	return &Current{
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Controller:      metav1.GetControllerOfNoCopy(obj),
		Label:           obj.GetLabels()[owner.Label],
		Fields:          FieldsDigest(obj),
		Deleting:        obj.GetDeletionTimestamp() != nil,
	}
}

// Control says whose an object is.
type Control string

const (
	// ControlOurs: its controller is the owner, by UID, or it has no controller
	// and is the very object that is on record.
	ControlOurs Control = "Ours"
	// ControlRetained: it has no controller and carries the owner's label and our
	// managedFields entry: an owner of the same name has left it behind.
	ControlRetained Control = "Retained"
	// ControlNobody: it has no controller, and nothing proves that it is ours.
	ControlNobody Control = "Nobody"
	// ControlForeign: its controller is someone else.
	ControlForeign Control = "Foreign"
)

// controlOf says whose an object is. A label alone proves nothing, as anybody can
// set it.
func controlOf(current *Current, owner Owner, record *Record, retain bool) Control {
	switch {
	case current.Controller != nil && current.Controller.UID == owner.UID:
		return ControlOurs
	case current.Controller != nil:
		return ControlForeign
	case record != nil && record.UID == current.UID:
		return ControlOurs
	case retain && current.Label == owner.Name && current.Fields != "":
		return ControlRetained
	default:
		return ControlNobody
	}
}
