// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestScalar(t *testing.T) {
	cases := map[string]struct {
		reason  string
		text    string
		want    any
		written string
		err     string
	}{
		"String":  {reason: "A string stays one.", text: `"3"`, want: "3", written: `"3"`},
		"Escapes": {reason: "A string is written as the API server writes it.", text: `"\u0041<"`, want: "A<", written: `"A\u003c"`},
		"Bool":    {reason: "A boolean stays one.", text: `true`, want: true, written: `true`},
		"Int":     {reason: "A whole number is exact.", text: `9007199254740993`, want: int64(9007199254740993), written: `9007199254740993`},
		"Whole":   {reason: "The API server writes 3.0 as 3.", text: `3.0`, want: int64(3), written: `3`},
		"Float":   {reason: "Other numbers are floats.", text: `0.50`, want: 0.5, written: `0.5`},
		"Null":    {reason: "Null is no value.", text: `null`, written: `null`, err: "null"},
		"List":    {reason: "A list is no scalar.", text: `[1]`, written: `[1]`, err: "a list"},
		"Object":  {reason: "Nor is an object.", text: `{"a":1}`, written: `{"a":1}`, err: "an object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s Scalar
			if err := json.Unmarshal([]byte(tc.text), &s); err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(s)
			if err != nil || string(written) != tc.written {
				t.Errorf("%s Marshal() = %s, %v, want %s", tc.reason, written, err, tc.written)
			}
			got, err := s.Value()
			if got != tc.want && !(name == "Whole" && got == 3.0) {
				t.Errorf("%s Value() = %v (%T), want %v", tc.reason, got, got, tc.want)
			}
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Value() fails with %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestScalarOf(t *testing.T) {
	for want, s := range map[any]Scalar{"a": ScalarOf("a"), true: ScalarOf(true), int64(3): ScalarOf(int64(3))} {
		if got, err := s.Value(); got != want || err != nil {
			t.Errorf("Value() = %v, %v, want %v", got, err, want)
		}
	}
	if _, err := (Scalar{}).Value(); err == nil {
		t.Error("the zero Scalar has a value")
	}
}
