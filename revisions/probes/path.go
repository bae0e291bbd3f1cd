// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"maps"
	"slices"
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
	key   string     // stepKey: the field
	index int        // stepIndex
	keys  []entryKey // stepEntry: the fields that tell entries apart, sorted
}

// entryKey is a field of an entry, and what it holds. An empty field stands for the
// entry itself, in a list of plain values.
type entryKey struct{ field, value string }

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
		if s.selects(entry) {
			return entry, true
		}
	}
	return nil, false
}

// selects says whether an entry is one that the keys of the step name.
func (s *step) selects(entry any) bool {
	fields, isObject := entry.(map[string]any)
	for _, key := range s.keys {
		value := entry
		if key.field != "" {
			value = fields[key.field]
		}
		if value == nil && isObject && key.field == "protocol" && len(s.keys) > 1 {
			value = "TCP" // of the keys of Kubernetes' own kinds, the protocol of a port alone has a default
		}
		if text, ok := entryText(value); !ok || text != key.value {
			return false
		}
	}
	return true
}

// isWithin says whether all keys of the step are among those of another.
func (s *step) isWithin(other step) bool {
	for _, key := range s.keys {
		if !slices.Contains(other.keys, key) {
			return false
		}
	}
	return s.kind == other.kind && s.key == other.key && s.index == other.index
}

// entryText is the text of a value that tells entries apart; none of null, an object or
// a list.
func entryText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	}
	n, ok := numberOf(value)
	if !ok {
		return "", false
	}
	return n.String(), true
}

// FieldStep spells the step to a field as ParsePath reads it.
func FieldStep(name string) string {
	if isAll(name, isNameByte) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

// EntryStep spells the step to the entry of a list that these fields tell apart, such as
// [port=80,protocol=TCP]. A field with an empty name is the entry itself.
func EntryStep(fields map[string]any) string {
	var keys []entryKey
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		text, ok := entryText(fields[field])
		if !ok {
			text = fmt.Sprint(fields[field])
		}
		keys = append(keys, entryKey{field: field, value: text})
	}
	return spellEntry(keys)
}

func spellEntry(keys []entryKey) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		value := key.value
		if !isAll(value, isValueByte) {
			value = strconv.Quote(value)
		}
		texts[i] = key.field + "=" + value
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// canonical spells steps.
func canonical(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch s.kind {
		case stepEvery:
			b.WriteString("[*]")
		case stepIndex:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case stepEntry:
			b.WriteString(spellEntry(s.keys))
		case stepKey:
			b.WriteString(FieldStep(s.key))
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

// isNameByte says which characters a field name may have without being quoted.
func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isValueByte does so for the value of an entry, where a dot does no harm.
func isValueByte(c byte) bool {
	return isNameByte(c) || c == '.' || c == '/' || c == ':'
}
