// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The accessors of this file read the nested maps of an object without copying
// them. A field that is missing, null or of another type than asked for is "not
// there"; none of them panics.

// contentOf returns the fields of obj, nil where there are none.
func contentOf(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

// fieldAt follows keys through nested maps. Without keys it returns content.
func fieldAt(content map[string]any, keys ...string) (any, bool) {
	var value any = content
	for _, key := range keys {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = fields[key]; !ok {
			return nil, false
		}
	}
	return value, value != nil
}

func mapAt(content map[string]any, keys ...string) map[string]any {
	value, _ := fieldAt(content, keys...)
	fields, _ := value.(map[string]any)
	return fields
}

func listAt(content map[string]any, keys ...string) []any {
	value, _ := fieldAt(content, keys...)
	list, _ := value.([]any)
	return list
}

func stringAt(content map[string]any, keys ...string) string {
	value, _ := fieldAt(content, keys...)
	text, _ := value.(string)
	return text
}

func boolAt(content map[string]any, keys ...string) bool {
	value, _ := fieldAt(content, keys...)
	truth, _ := value.(bool)
	return truth
}

// intAt returns a whole number, and whether there is one.
func intAt(content map[string]any, keys ...string) (int64, bool) {
	value, _ := fieldAt(content, keys...)
	if n, ok := numberOf(value); ok && n.whole {
		return n.int, true
	}
	return 0, false
}

// countAt returns a whole number of a status, where controllers leave out zero.
func countAt(content map[string]any, keys ...string) int64 {
	n, _ := intAt(content, keys...)
	return n
}
