// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Operator says how a field has to stand to a value.
type Operator string

const (
	// Equal fields have the value. It is the default.
	Equal Operator = "Equal"
	// AtLeast fields have the value or a larger one.
	AtLeast Operator = "AtLeast"
	// AtMost fields have the value or a smaller one.
	AtMost Operator = "AtMost"
)

// FieldValue asks that a field of the object has a given value. A field that is
// missing or null has no value: the answer is Unknown.
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
	// Operator is Equal when empty. AtLeast and AtMost are for numbers and
	// quantities; a field that holds something else is False.
	Operator Operator
}

// Validate returns an error when the path or the value is missing, the value has a
// type that no field can be compared with, or the operator does not go with it. Such
// a probe answers Unknown to every object. The error does not print the value.
func (f FieldValue) Validate() error {
	if len(f.Path.steps) == 0 {
		return errors.New("field value probe: the path is missing")
	}
	switch f.Operator {
	case "", Equal, AtLeast, AtMost:
	default:
		return fmt.Errorf("field value probe for %s: the operator %q is none of Equal, AtLeast and AtMost", f.Path, f.Operator)
	}
	switch v := f.Value.(type) {
	case string, bool:
		if f.isOrdered() {
			return fmt.Errorf("field value probe for %s: %s compares numbers and quantities, and the value is of type %T", f.Path, f.Operator, f.Value)
		}
		return nil
	case resource.Quantity:
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

func (f FieldValue) isOrdered() bool { return f.Operator == AtLeast || f.Operator == AtMost }

// Probe compares the field of obj.
func (f FieldValue) Probe(obj *unstructured.Unstructured) Result {
	if err := f.Validate(); err != nil {
		return NewResult(Unknown, err.Error())
	}
	found, ok := f.Path.Lookup(obj)
	secret := ContainsSecrets(obj)
	switch {
	case !ok && secret:
		return NewResult(Unknown, f.Path.String()+" is missing")
	case !ok:
		return NewResult(Unknown, fmt.Sprintf("%s is missing, expected %s", f.Path, f.expected()))
	case f.matches(found):
		return Result{Status: True}
	case secret:
		return NewResult(False, f.Path.String()+" differs")
	}
	return NewResult(False, fmt.Sprintf("%s is %s, expected %s", f.Path, describe(found), f.expected()))
}

// matches compares what was found with the value.
func (f FieldValue) matches(found any) bool {
	want, isQuantity := f.quantity()
	if !isQuantity && !f.isOrdered() {
		return equalValues(f.Value, found)
	}
	var order int
	if isQuantity {
		q, ok := quantityOf(found)
		if !ok {
			return false
		}
		order = q.Cmp(want)
	} else {
		n, ok := numberOf(found)
		if !ok {
			return false
		}
		m, _ := numberOf(f.Value)
		order = n.compare(m)
	}
	switch f.Operator {
	case AtLeast:
		return order >= 0
	case AtMost:
		return order <= 0
	default:
		return order == 0
	}
}

func (f FieldValue) expected() string {
	text := describe(f.Value)
	if q, ok := f.quantity(); ok {
		text = q.String()
	}
	switch f.Operator {
	case AtLeast:
		return "at least " + text
	case AtMost:
		return "at most " + text
	default:
		return text
	}
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

func (f FieldValue) claim() string { return fmt.Sprintf("%s is %s", f.Path, f.expected()) }
