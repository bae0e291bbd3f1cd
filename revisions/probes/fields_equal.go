// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FieldsEqual asks that two fields of the object have the same value. Numbers are
// compared by value, objects and lists entry by entry. A field that is missing or
// null equals nothing, not even another missing one: the answer is False.
//
// Beware of counters: controllers leave out those that are zero, so that
// ".spec.replicas" and ".status.updatedReplicas" do not equal for a workload that
// is scaled to zero. Default knows such things, FieldsEqual does not.
type FieldsEqual struct {
	// A and B name the fields. Both are required.
	A, B Path
}

// Validate returns an error when a path is missing. Such a probe answers Unknown
// to every object.
func (f FieldsEqual) Validate() error {
	if len(f.A.steps) == 0 || len(f.B.steps) == 0 {
		return errors.New("fields equal probe: a path is missing, two are needed")
	}
	return nil
}

// Probe compares the two fields of obj.
func (f FieldsEqual) Probe(obj *unstructured.Unstructured) Result {
	if err := f.Validate(); err != nil {
		return NewResult(Unknown, err.Error())
	}
	a, found := f.A.Lookup(obj)
	if !found {
		return NewResult(Unknown, f.A.String()+" is missing, expected it to equal "+f.B.String())
	}
	b, found := f.B.Lookup(obj)
	if !found {
		return NewResult(Unknown, f.B.String()+" is missing, expected it to equal "+f.A.String())
	}
	if equalValues(a, b) {
		return Result{Status: True}
	}
	if ContainsSecrets(obj) {
		return NewResult(False, fmt.Sprintf("%s differs from %s", f.A, f.B))
	}
	return NewResult(False, fmt.Sprintf("%s is %s, expected it to equal %s, which is %s", f.A, describe(a), f.B, describe(b)))
}

func (f FieldsEqual) claim() string { return fmt.Sprintf("%s equals %s", f.A, f.B) }
