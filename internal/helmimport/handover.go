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
	var own *metav1.ManagedFieldsEntry
	for i := range entries {
		entry := *entries[i].DeepCopy()
		if isOurs(entry) {
			own = &entry
			continue
		}
		if isHelms(entry, entries) {
			spec, others, err := splitSpec(entry)
			if err != nil {
				return nil, false, fmt.Errorf("reading the fields of %s: %w", entry.Manager, err)
			}
			handed = handed.Union(spec)
			if others == nil {
				continue
			}
			entry.FieldsV1 = others
		}
		rest = append(rest, entry)
	}
	if handed.Empty() {
		return entries, false, nil
	}
	if own == nil {
		own = &metav1.ManagedFieldsEntry{Manager: v1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}
		for i := range entries {
			if isHelms(entries[i], entries) {
				own.APIVersion, own.Time = entries[i].APIVersion, entries[i].Time
			}
		}
	} else {
		before := &fieldpath.Set{}
		if err := before.FromJSON(bytes.NewReader(own.FieldsV1.GetRawBytes())); err != nil {
			return nil, false, fmt.Errorf("reading the fields of %s: %w", own.Manager, err)
		}
		handed = handed.Union(before)
	}
	raw, err := handed.ToJSON()
	if err != nil {
		return nil, false, fmt.Errorf("encoding fields: %w", err)
	}
	own.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(rest, *own), true, nil
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
