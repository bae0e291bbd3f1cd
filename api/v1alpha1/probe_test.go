// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestAssertion_Kinds: the list of kinds names the fields of an assertion, each once.
func TestAssertion_Kinds(t *testing.T) {
	all := Assertion{Alternative: Alternative{Not: &Check{}}, AnyOf: []Alternative{{}}}
	check := reflect.ValueOf(&all.Check).Elem()
	for _, field := range check.Fields() {
		field.Set(reflect.New(field.Type().Elem()))
	}
	all.FieldValue.Value = ScalarOf("x")
	listed := strings.Split(strings.Replace(AssertionKinds, " and ", ", ", 1), ", ")
	slices.Sort(listed)
	if got := all.Kinds(); !slices.Equal(got, listed) {
		t.Errorf("set are %q, listed %q", got, listed)
	}
	if got := AssertionOf(Check{CEL: &CELAssertion{}}).Kinds(); !slices.Equal(got, []string{"cel"}) {
		t.Errorf("set are %q, want cel alone", got)
	}
}
