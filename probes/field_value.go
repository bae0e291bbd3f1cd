// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FieldValue asks that a field of the object has a given value. A field that is
// missing or null has no value: the answer is False.
type FieldValue struct {
	// Path names the field. It is required.
	Path Path
	// Value is the value to be found. Its type matters:
	//
	//   - a string equals that string only,
	//   - a bool equals that bool only,
	//   - a number of any of Go's types equals a number of the same value: 3 equals
	//     3.0, and does not equal "3",
	//   - a resource.Quantity, or a pointer to one, equals a string or number that
	//     denotes the same amount: 1Gi equals "1024Mi".
	//
	// It is required; other types are refused.
	Value any
}

// Validate returns an error when the path or the value is missing, or the value has
// a type that no field can be compared with. Such a probe answers Unknown to every
// object. The error does not print the value.
func (f FieldValue) Validate() error {
	if len(f.Path.steps) == 0 {
		return errors.New("field value probe: the path is missing")
	}
	switch v := f.Value.(type) {
	case string, bool, resource.Quantity:
		return nil
	case *resource.Quantity:
		if v != nil {
			return nil
		}
	}
	if _, ok := numberOf(f.Value); !ok {
		return fmt.Errorf("field value probe for %s: the value is of type %T, which is none of string, bool, number and resource.Quantity", f.Path, f.Value)
	}
	return nil
}

// Probe compares the field of obj.
func (f FieldValue) Probe(obj *unstructured.Unstructured) Result {
	if err := f.Validate(); err != nil {
		return NewResult(Unknown, err.Error())
	}
	found, ok := f.Path.Lookup(obj)
	if !ok {
		return NewResult(False, f.Path.String()+" is missing")
	}
	if f.equals(found) {
		return Result{Status: True}
	}
	if HoldsSecrets(obj) {
		return NewResult(False, f.Path.String()+" differs")
	}
	return NewResult(False, fmt.Sprintf("%s is %s, expected %s", f.Path, describe(found), f.expected()))
}

func (f FieldValue) equals(found any) bool {
	want, ok := f.quantity()
	if !ok {
		return equalValues(f.Value, found)
	}
	q, ok := quantityOf(found)
	return ok && want.Cmp(q) == 0
}

func (f FieldValue) expected() string {
	if q, ok := f.quantity(); ok {
		return q.String()
	}
	return describe(f.Value)
}

// quantity returns a copy of the value, since reading a quantity may change it.
func (f FieldValue) quantity() (resource.Quantity, bool) {
	switch v := f.Value.(type) {
	case resource.Quantity:
		return v.DeepCopy(), true
	case *resource.Quantity:
		return v.DeepCopy(), true
	}
	return resource.Quantity{}, false
}
