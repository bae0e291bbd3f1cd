// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
)

// number is a JSON number: whole where it can be said exactly as an int64,
// otherwise a float64.
type number struct {
	whole bool
	int   int64
	float float64
}

// numberOf reads the types in which decoders and hand-written objects hold a
// number.
func numberOf(value any) (number, bool) {
	switch v := value.(type) {
	case int64:
		return wholeNumber(v), true
	case float64:
		return floatNumber(v), true
	case int:
		return wholeNumber(int64(v)), true
	case int32:
		return wholeNumber(int64(v)), true
	case int16:
		return wholeNumber(int64(v)), true
	case int8:
		return wholeNumber(int64(v)), true
	case uint:
		return unsignedNumber(uint64(v)), true
	case uint64:
		return unsignedNumber(v), true
	case uint32:
		return wholeNumber(int64(v)), true
	case uint16:
		return wholeNumber(int64(v)), true
	case uint8:
		return wholeNumber(int64(v)), true
	case float32:
		return floatNumber(float64(v)), true
	case json.Number:
		return textNumber(v)
	}
	return number{}, false
}

func wholeNumber(v int64) number { return number{whole: true, int: v} }

func unsignedNumber(v uint64) number {
	if v > math.MaxInt64 {
		return number{float: float64(v)}
	}
	return wholeNumber(int64(v))
}

func floatNumber(v float64) number {
	// 1<<63 is exact as a float64, MaxInt64 is not.
	if v == math.Trunc(v) && v >= -(1<<63) && v < 1<<63 {
		return wholeNumber(int64(v))
	}
	return number{float: v}
}

func textNumber(v json.Number) (number, bool) {
	if n, err := v.Int64(); err == nil {
		return wholeNumber(n), true
	}
	f, err := v.Float64()
	return floatNumber(f), err == nil
}

// String returns the number as JSON writes it.
func (n number) String() string {
	if n.whole {
		return strconv.FormatInt(n.int, 10)
	}
	return strconv.FormatFloat(n.float, 'g', -1, 64)
}

// compare is negative when n is the smaller one, positive when it is the larger one.
// A whole number and one that is not are compared exactly.
func (n number) compare(m number) int {
	switch {
	case n.whole && m.whole:
		return cmp.Compare(n.int, m.int)
	case !n.whole && !m.whole:
		return cmp.Compare(n.float, m.float)
	case m.whole:
		return -m.compare(n)
	}
	// m is beyond what an int64 holds, or has a fraction.
	switch floor := math.Floor(m.float); {
	case floor >= 1<<63:
		return -1
	case floor < -(1 << 63):
		return 1
	case n.int <= int64(floor):
		return -1
	default:
		return 1
	}
}

// equalValues compares two values of objects: numbers by value, whatever type
// holds them, everything else by type and content.
func equalValues(a, b any) bool {
	if n, ok := numberOf(a); ok {
		m, ok := numberOf(b)
		return ok && n == m
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	}
	return false
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		other, ok := b[key]
		if !ok || !equalValues(value, other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalValues(a[i], b[i]) {
			return false
		}
	}
	return true
}
