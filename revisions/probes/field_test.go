// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const fieldObject = `
apiVersion: v1
kind: X
spec:
  name: web
  text3: "3"
  three: 3
  threeAndAHalf: 3.5
  enabled: true
  memory: 1024Mi
  cores: 2
  huge: 1e2147483647
  nothing: null
  list: [1, {a: b}]
  sameList: [1, {a: b}]
  longerList: [1, {a: b}, 2]
  object: {a: 1, b: {c: 2}}
  sameObject: {b: {c: 2}, a: 1}
  otherObject: {a: 1, b: {c: 3}}
`

func TestFieldValue(t *testing.T) {
	gi := resource.MustParse("1Gi")
	var none *resource.Quantity
	cases := map[string]struct {
		reason string
		path   string
		value  any
		want   Result
	}{
		"String":           {"A string equals itself.", ".spec.name", "web", Result{Status: True}},
		"OtherString":      {"Found and expected are reported.", ".spec.name", "db", Result{False, `.spec.name is "web", expected "db"`}},
		"Number":           {"A number of any type equals the value.", ".spec.three", 3, Result{Status: True}},
		"NumberInt32":      {"So does an int32.", ".spec.three", int32(3), Result{Status: True}},
		"NumberUint64":     {"So does a uint64.", ".spec.three", uint64(3), Result{Status: True}},
		"NumberFloat":      {"So does a float.", ".spec.three", 3.0, Result{Status: True}},
		"NumberJSON":       {"So does a number that is still text.", ".spec.three", json.Number("3"), Result{Status: True}},
		"OtherNumber":      {"Another number does not.", ".spec.three", 4, Result{False, ".spec.three is 3, expected 4"}},
		"Fraction":         {"Fractions are compared.", ".spec.threeAndAHalf", float32(3.5), Result{Status: True}},
		"NaN":              {"NaN equals nothing.", ".spec.three", math.NaN(), Result{False, ".spec.three is 3, expected NaN"}},
		"NumberNotText":    {"A number is not its text.", ".spec.text3", 3, Result{False, `.spec.text3 is "3", expected 3`}},
		"TextNotNumber":    {"Text is not its number.", ".spec.three", "3", Result{False, `.spec.three is 3, expected "3"`}},
		"Bool":             {"A bool equals itself.", ".spec.enabled", true, Result{Status: True}},
		"OtherBool":        {"And not the other.", ".spec.enabled", false, Result{False, ".spec.enabled is true, expected false"}},
		"BoolNotText":      {"Nor its text.", ".spec.enabled", "true", Result{False, `.spec.enabled is true, expected "true"`}},
		"Quantity":         {"A quantity equals another spelling.", ".spec.memory", gi, Result{Status: True}},
		"QuantityPointer":  {"A pointer to one as well.", ".spec.memory", &gi, Result{Status: True}},
		"QuantityNumber":   {"A number is a quantity.", ".spec.cores", resource.MustParse("2000m"), Result{Status: True}},
		"QuantityOther":    {"Another amount does not.", ".spec.memory", resource.MustParse("2Gi"), Result{False, `.spec.memory is "1024Mi", expected 2Gi`}},
		"QuantityText":     {"Text that is no quantity equals none.", ".spec.name", gi, Result{False, `.spec.name is "web", expected 1Gi`}},
		"QuantityBool":     {"Neither does a bool.", ".spec.enabled", gi, Result{False, `.spec.enabled is true, expected 1Gi`}},
		"QuantityHuge":     {"A hostile exponent is not expanded.", ".spec.huge", gi, Result{False, `.spec.huge is "1e2147483647", expected 1Gi`}},
		"NotByQuantity":    {"Without a quantity the spelling counts.", ".spec.memory", "1Gi", Result{False, `.spec.memory is "1024Mi", expected "1Gi"`}},
		"Object":           {"An object equals no value.", ".spec.object", "x", Result{False, `.spec.object is an object with 2 fields, expected "x"`}},
		"List":             {"Neither does a list.", ".spec.list", 1, Result{False, `.spec.list is a list of 2 entries, expected 1`}},
		"Missing":          {"Missing is not passing.", ".status.phase", "x", Result{Unknown, `.status.phase is missing, expected "x"`}},
		"Null":             {"Neither is null.", ".spec.nothing", "", Result{Unknown, `.spec.nothing is missing, expected ""`}},
		"InvalidValue":     {"A list cannot be expected.", ".spec.list", []any{1}, Result{Unknown, "field value probe for .spec.list: the value is of type []interface {}, which is none of string, bool, number and resource.Quantity"}},
		"InvalidNil":       {"Nor can nothing.", ".spec.list", nil, Result{Unknown, "field value probe for .spec.list: the value is of type <nil>, which is none of string, bool, number and resource.Quantity"}},
		"InvalidNilAmount": {"Nor can a nil quantity.", ".spec.list", none, Result{Unknown, "field value probe for .spec.list: the value is of type *resource.Quantity, which is none of string, bool, number and resource.Quantity"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := FieldValue{Path: path(t, tc.path), Value: tc.value}
			testProbe(t, p, map[string]probeCase{"Probe": {tc.reason, fieldObject, tc.want}})
			if invalid := p.Validate() != nil; invalid != strings.HasPrefix(tc.want.Message, "field value probe") {
				t.Errorf("Validate() = %v does not agree with Probe()", p.Validate())
			}
		})
	}
	t.Run("NoPath", func(t *testing.T) {
		testProbe(t, FieldValue{Value: "x"}, map[string]probeCase{"Probe": {
			"A probe without path is not valid and so Unknown.", fieldObject, Result{Unknown, "field value probe: the path is missing"},
		}})
	})
}

func TestFieldValue_Operator(t *testing.T) {
	gi := resource.MustParse("1Gi")
	cases := map[string]struct {
		reason   string
		path     string
		operator Operator
		value    any
		want     Result
	}{
		"Equal":         {"Equal is the default spelled out.", ".spec.three", Equal, 3, Result{Status: True}},
		"AtLeast":       {"More is enough.", ".spec.three", AtLeast, 2, Result{Status: True}},
		"AtLeastSame":   {"As much is enough.", ".spec.three", AtLeast, 3, Result{Status: True}},
		"AtLeastLess":   {"Less is not.", ".spec.three", AtLeast, 4, Result{False, ".spec.three is 3, expected at least 4"}},
		"AtMost":        {"Less is fine.", ".spec.three", AtMost, 3.5, Result{Status: True}},
		"AtMostMore":    {"More is too much.", ".spec.three", AtMost, 2.5, Result{False, ".spec.three is 3, expected at most 2.5"}},
		"Amount":        {"Quantities are compared as such.", ".spec.memory", AtLeast, resource.MustParse("1000Mi"), Result{Status: True}},
		"AmountLess":    {"Not as text.", ".spec.memory", AtLeast, resource.MustParse("2Gi"), Result{False, `.spec.memory is "1024Mi", expected at least 2Gi`}},
		"AmountAtMost":  {"Both ways.", ".spec.memory", AtMost, gi, Result{Status: True}},
		"Text":          {"Text is neither more nor less.", ".spec.name", AtLeast, 1, Result{False, `.spec.name is "web", expected at least 1`}},
		"NumberText":    {"The text of a number neither.", ".spec.text3", AtLeast, 1, Result{False, `.spec.text3 is "3", expected at least 1`}},
		"NoAmount":      {"Nor is what is no amount.", ".spec.name", AtMost, gi, Result{False, `.spec.name is "web", expected at most 1Gi`}},
		"Missing":       {"Missing is not at most something.", ".spec.nowhere", AtMost, 3, Result{Unknown, ".spec.nowhere is missing, expected at most 3"}},
		"TextOrdered":   {"Text has no order.", ".spec.name", AtLeast, "a", Result{Unknown, "field value probe for .spec.name: AtLeast compares numbers and quantities, and the value is of type string"}},
		"OddOperator":   {"An operator has to exist.", ".spec.name", "Like", "a", Result{Unknown, `field value probe for .spec.name: the operator "Like" is none of Equal, AtLeast and AtMost`}},
		"BeyondInteger": {"A number beyond int64 is compared.", ".spec.three", AtMost, 1e300, Result{Status: True}},
		"BelowInteger":  {"And one below.", ".spec.three", AtLeast, -1e300, Result{Status: True}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := FieldValue{Path: path(t, tc.path), Value: tc.value, Operator: tc.operator}
			testProbe(t, p, map[string]probeCase{"Probe": {tc.reason, fieldObject, tc.want}})
		})
	}
}

func TestNumber_Compare(t *testing.T) {
	// In their order, each smaller than the next.
	values := []any{-math.MaxFloat64, int64(math.MinInt64), -1.5, int64(-1), 0, 0.5, 1, int64(1 << 53), int64(1<<53 + 1), int64(math.MaxInt64), 1e19}
	for i, a := range values {
		for j, b := range values {
			n, _ := numberOf(a)
			m, _ := numberOf(b)
			if got, want := n.compare(m), i-j; got < 0 != (want < 0) || got > 0 != (want > 0) {
				t.Errorf("%v compared with %v is %d", a, b, got)
			}
		}
	}
}

func TestFieldsEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   Result
	}{
		"Same":       {"A field equals itself.", ".spec.name", ".spec.name", Result{Status: True}},
		"Lists":      {"Lists are compared entry by entry.", ".spec.list", ".spec.sameList", Result{Status: True}},
		"Longer":     {"A longer list is another.", ".spec.list", ".spec.longerList", Result{False, ".spec.list is a list of 2 entries, expected it to equal .spec.longerList, which is a list of 3 entries"}},
		"Objects":    {"The order of fields does not matter.", ".spec.object", ".spec.sameObject", Result{Status: True}},
		"Nested":     {"A nested difference is one.", ".spec.object", ".spec.otherObject", Result{False, ".spec.object is an object with 2 fields, expected it to equal .spec.otherObject, which is an object with 2 fields"}},
		"NumberText": {"A number is not its text.", ".spec.three", ".spec.text3", Result{False, `.spec.three is 3, expected it to equal .spec.text3, which is "3"`}},
		"BoolText":   {"A bool is no text.", ".spec.enabled", ".spec.name", Result{False, `.spec.enabled is true, expected it to equal .spec.name, which is "web"`}},
		"MissingA":   {"A missing field is not passing.", ".status.a", ".spec.name", Result{Unknown, ".status.a is missing, expected it to equal .spec.name"}},
		"MissingB":   {"Nor is the other.", ".spec.name", ".status.b", Result{Unknown, ".status.b is missing, expected it to equal .spec.name"}},
		"BothNull":   {"Nor are two that are null.", ".spec.nothing", ".spec.nothing", Result{Unknown, ".spec.nothing is missing, expected it to equal .spec.nothing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := FieldsEqual{A: path(t, tc.a), B: path(t, tc.b)}
			testProbe(t, p, map[string]probeCase{"Probe": {tc.reason, fieldObject, tc.want}})
		})
	}
	t.Run("NoPath", func(t *testing.T) {
		testProbe(t, FieldsEqual{A: path(t, ".spec.name")}, map[string]probeCase{"Probe": {
			"A probe with one path is not valid and so Unknown.", fieldObject,
			Result{Unknown, "fields equal probe: a path is missing, two are needed"},
		}})
	})
}

func TestFieldsEqual_Numbers(t *testing.T) {
	const exact = 1<<53 + 1 // the first whole number that a float64 cannot hold
	cases := map[string]struct {
		a, b any
		want Status
	}{
		"IntAndFloat":     {int64(3), 3.0, True},
		"IntAndInt32":     {int64(3), int32(3), True},
		"Fraction":        {3.5, int64(3), False},
		"LargeAndFloat":   {int64(exact), float64(exact), False},
		"LargeAndItself":  {int64(exact), int64(exact), True},
		"BeyondInt64":     {uint64(math.MaxUint64), float64(math.MaxUint64), True},
		"NearInt64":       {int64(math.MaxInt64), float64(1 << 63), False},
		"Infinite":        {math.Inf(1), math.Inf(1), True},
		"NaN":             {math.NaN(), math.NaN(), False},
		"NegativeZero":    {math.Copysign(0, -1), int64(0), True},
		"NotFromAText":    {json.Number("x"), json.Number("x"), False},
		"UnknownTypes":    {time.Second, time.Second, False},
		"UnknownInObject": {map[string]any{"a": []string{}}, map[string]any{"a": []string{}}, False},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"kind": "X", "a": tc.a, "b": tc.b}}
			got := FieldsEqual{A: path(t, ".a"), B: path(t, ".b")}.Probe(obj)
			if got.Status != tc.want {
				t.Errorf("Probe() with %v (%T) and %v (%T) = %v, want %s", tc.a, tc.a, tc.b, tc.b, got, tc.want)
			}
		})
	}
}

func TestParseQuantity(t *testing.T) {
	cases := map[string]struct {
		text string
		want string // empty: refused
	}{
		"Plain":        {"3", "3"},
		"Binary":       {"1Gi", "1Gi"},
		"Exa":          {"1E", "1E"},
		"Exponent":     {"1e3", "1e3"},
		"LongExponent": {"1e1000000000", ""},
		"FourDigits":   {"1e+1000", ""},
		"ThreeDigits":  {"1e-999", "1e-9"},
		"Negative":     {"1e-1000000000", ""},
		"LongText":     {"1" + string(make([]byte, 100)), ""},
		"NoQuantity":   {"web", ""},
		"Empty":        {"", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q, err := ParseQuantity(tc.text)
			if (err != nil) != (tc.want == "") || err == nil && q.String() != tc.want {
				t.Errorf("ParseQuantity(%q) = %s, %v, want %q", tc.text, &q, err, tc.want)
			}
		})
	}
}
