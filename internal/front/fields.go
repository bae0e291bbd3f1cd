// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owns says whether a field manager has an entry of a field, or of one below it. The path is that
// of managedFields, such as f:metadata and f:labels.
func Owns(manager string, entries []metav1.ManagedFieldsEntry, path ...string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.FieldsV1 != nil && has(e.FieldsV1.GetRawBytes(), path)
	})
}

func has(fields []byte, path []string) bool {
	for _, step := range path {
		var inner map[string]json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(fields)).Decode(&inner); err != nil {
			return false
		}
		next, ok := inner[step]
		if !ok {
			return false
		}
		fields = next
	}
	return true
}
