// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package decoding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Annotations of an object that did not decode: the field, and what is wrong with it. They stand
// in the cache only. The API server refuses keys with a space, so no resource brings them along.
const (
	markField = "strata.run/undecodable field"
	markCause = "strata.run/undecodable cause"
)

// Error says that a resource does not decode.
type Error struct {
	// Field is the path of the field that its Go type cannot hold, empty when several are
	// such fields.
	Field string
	// Cause is what is wrong with it.
	Cause string
}

// Error names the field.
func (e *Error) Error() string {
	if e.Field == "" {
		return "the resource cannot be read: " + e.Cause
	}
	return fmt.Sprintf("%s cannot be read: %s", e.Field, e.Cause)
}

// Problem is the [Error] of an object whose spec is unknown, nil for one that is as it was read.
func Problem(object client.Object) error {
	annotations := object.GetAnnotations()
	cause, marked := annotations[markCause]
	if !marked {
		return nil
	}
	return &Error{Field: annotations[markField], Cause: cause}
}

// Receiver takes in the answer of the API server to a write of an object: the object itself, or
// just metadata if it does not decode.
func Receiver(object client.Object, scheme *runtime.Scheme) (client.Object, error) {
	if Problem(object) == nil {
		return object, nil
	}
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T: %w", object, err)
	}
	into := &metav1.PartialObjectMetadata{}
	into.SetGroupVersionKind(kind)
	into.SetNamespace(object.GetNamespace())
	into.SetName(object.GetName())
	return into, nil
}

func put(object client.Object, field string, cause error) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[markField], annotations[markCause] = field, cause.Error()
	object.SetAnnotations(annotations)
}

// culprit is the path of the one field without which an object decodes.
func culprit(object map[string]any, decodes func(map[string]any) bool) string {
	path := find(object, func(value any) bool {
		whole, _ := value.(map[string]any)
		return decodes(whole)
	})
	return strings.TrimPrefix(path, ".")
}

// find goes down to the value that keeps another from decoding. The function says whether that
// decodes with another value in this place.
func find(value any, decodes func(any) bool) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			with := maps.Clone(value)
			delete(with, key)
			if !decodes(with) {
				continue
			}
			return "." + key + find(value[key], func(inner any) bool {
				with[key] = inner
				return decodes(with)
			})
		}
	case []any:
		for i, item := range value {
			if decodes([]any{item}) {
				continue
			}
			return fmt.Sprintf("[%d]", i) + find(item, func(inner any) bool { return decodes([]any{inner}) })
		}
	}
	return ""
}
