// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Select asks its inner probe only of the objects that it selects. For every other
// object the answer is True, so that one probe can be put to all objects of a phase.
// An object has to match both the kind and the labels.
type Select struct {
	// Kind is the group and kind to select, of any version. The zero GroupKind
	// selects every kind.
	Kind schema.GroupKind
	// Labels selects by the labels in the object's metadata. Nil selects every
	// object, as labels.Everything does.
	Labels labels.Selector
	// Inner is asked of the selected objects. It is required.
	Inner Probe
}

// Probe asks the inner probe when obj is selected.
func (s Select) Probe(obj *unstructured.Unstructured) Result {
	if !s.selects(obj) {
		return Result{Status: True}
	}
	return run(s.Inner, obj)
}

func (s Select) selects(obj *unstructured.Unstructured) bool {
	if !s.Kind.Empty() && groupKindOf(obj) != s.Kind {
		return false
	}
	return s.Labels == nil || s.Labels.Matches(labelsOf(obj))
}

// groupKindOf returns the group and kind as the object spells them.
func groupKindOf(obj *unstructured.Unstructured) schema.GroupKind {
	if obj == nil {
		return schema.GroupKind{}
	}
	return obj.GroupVersionKind().GroupKind()
}

// objectLabels reads the labels of an object in place: a selector needs a few of
// them, unstructured would copy all.
type objectLabels map[string]any

func labelsOf(obj *unstructured.Unstructured) objectLabels {
	return mapAt(contentOf(obj), "metadata", "labels")
}

// Has says whether the label is there.
func (o objectLabels) Has(label string) bool {
	_, ok := o[label].(string)
	return ok
}

// Get returns the label's value, "" where there is none.
func (o objectLabels) Get(label string) string {
	value, _ := o[label].(string)
	return value
}

// Lookup returns the label's value and whether it is there.
func (o objectLabels) Lookup(label string) (value string, found bool) {
	value, found = o[label].(string)
	return value, found
}
