// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Path names one field of an object. It is made by ParsePath; the zero Path names
// nothing. A Path is not changed after it was made.
type Path struct {
	text  string
	steps []step
}

// step is one move from a value to a value inside it.
type step struct {
	kind  stepKind
	key   string // stepKey: the field; stepEntry: the field that tells entries apart
	value string // stepEntry: what that field holds
	index int    // stepIndex
}

type stepKind int

const (
	stepKey stepKind = iota
	stepIndex
	stepEntry
	stepEvery // in a Pattern only
)

// String returns the path in its one canonical spelling, which ParsePath reads
// back to the same Path. The zero Path gives "".
func (p Path) String() string { return p.text }

// Lookup returns the value that the path names in obj, and whether there is one.
// A null counts as no value. The value is the object's own: it must not be changed.
func (p Path) Lookup(obj *unstructured.Unstructured) (value any, found bool) {
	if len(p.steps) == 0 {
		return nil, false
	}
	value = contentOf(obj)
	for i := range p.steps {
		if value, found = p.steps[i].into(value); !found {
			return nil, false
		}
	}
	return value, value != nil
}

// into makes the step from value.
func (s *step) into(value any) (any, bool) {
	if s.kind == stepKey {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		value, ok = fields[s.key]
		return value, ok
	}
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	if s.kind == stepIndex {
		if s.index >= len(list) {
			return nil, false
		}
		return list[s.index], true
	}
	for _, entry := range list {
		if fields, ok := entry.(map[string]any); ok && s.selects(fields[s.key]) {
			return entry, true
		}
	}
	return nil, false
}

// selects compares the value that tells entries apart with the text of the path.
func (s *step) selects(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return v == s.value
	case bool:
		return strconv.FormatBool(v) == s.value
	}
	n, ok := numberOf(value)
	return ok && n.String() == s.value
}

// canonical spells steps.
func canonical(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.kind == stepEvery:
			b.WriteString("[*]")
		case s.kind == stepIndex:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.kind == stepEntry && isAll(s.value, isValueByte):
			b.WriteString("[" + s.key + "=" + s.value + "]")
		case s.kind == stepEntry:
			b.WriteString("[" + s.key + "=" + strconv.Quote(s.value) + "]")
		case isAll(s.key, isNameByte):
			b.WriteString("." + s.key)
		default:
			b.WriteString("[" + strconv.Quote(s.key) + "]")
		}
	}
	return b.String()
}

func isAll(text string, is func(byte) bool) bool {
	for i := range len(text) {
		if !is(text[i]) {
			return false
		}
	}
	return text != ""
}

// isNameByte tells which characters a field name may have without being quoted.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isValueByte does so for the value of an entry, where a dot does no harm.
func isValueByte(c byte) bool {
	return isNameByte(c) || c == '.' || c == '/' || c == ':'
}
