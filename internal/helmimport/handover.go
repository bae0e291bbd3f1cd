// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/strata-run/strata/api/v1alpha1"
)

// HandOverSpec is managedFields with what Helm owns of the spec of an object as ours, and
// whether that changes anything. It is for an object that is about to be adopted by a
// package that is rendered and not imported: what Helm has set and the package does not
// ask for goes with the first apply, and no field has two values side by side.
//
// The rest stays Helm's, as its marks on the object say that it still knows it.
func HandOverSpec(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool, error) {
	handed := &fieldpath.Set{}
	var rest []metav1.ManagedFieldsEntry
	own := metav1.ManagedFieldsEntry{Manager: v1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}
	for i := range entries {
		entry := *entries[i].DeepCopy()
		switch {
		case isOurs(entry):
			own = entry
		case isHelms(entry, entries):
			spec, others, err := splitSpec(entry)
			if err != nil {
				return nil, false, fmt.Errorf("reading the fields of %s: %w", entry.Manager, err)
			}
			handed = handed.Union(spec)
			own.APIVersion, own.Time = entry.APIVersion, entry.Time
			if others != nil {
				entry.FieldsV1 = others
				rest = append(rest, entry)
			}
		default:
			rest = append(rest, entry)
		}
	}
	if handed.Empty() {
		return entries, false, nil
	}
	var err error
	if own.FieldsV1, err = with(own.FieldsV1, handed); err != nil {
		return nil, false, fmt.Errorf("adding to the fields of %s: %w", own.Manager, err)
	}
	return append(rest, own), true, nil
}

// with are fields and some more.
func with(fields *metav1.FieldsV1, more *fieldpath.Set) (*metav1.FieldsV1, error) {
	if fields != nil {
		before := &fieldpath.Set{}
		if err := before.FromJSON(bytes.NewReader(fields.GetRawBytes())); err != nil {
			return nil, err
		}
		more = more.Union(before)
	}
	raw, err := more.ToJSON()
	if err != nil {
		return nil, err
	}
	return metav1.NewFieldsV1(string(raw)), nil
}

// splitSpec are the fields of an entry below spec, and the others, nil when there are none.
func splitSpec(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, *metav1.FieldsV1, error) {
	spec := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return spec, nil, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return nil, nil, err
	}
	if below, ok := fields["f:spec"]; ok {
		text, err := json.Marshal(map[string]json.RawMessage{"f:spec": below})
		if err != nil {
			return nil, nil, err
		}
		if err := spec.FromJSON(bytes.NewReader(text)); err != nil {
			return nil, nil, err
		}
		delete(fields, "f:spec")
	}
	if len(fields) == 0 {
		return spec, nil, nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, err
	}
	return spec, metav1.NewFieldsV1(string(text)), nil
}
