// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"maps"
	"slices"
)

// Pattern names any number of fields of an object. It is made by ParsePattern; the
// zero Pattern names none.
type Pattern struct {
	text  string
	steps []step
}

// ParsePattern reads a path as [ParsePath] does, in which [*] may stand for every
// entry of a list, such as .webhooks[*].clientConfig.caBundle. Entries have no
// index. The error is a *PathError.
func ParsePattern(text string) (Pattern, error) {
	steps, spelled, err := parseSteps(&pathParser{text: text, pattern: true})
	return Pattern{text: spelled, steps: steps}, err
}

// Pattern is the pattern that names what the path names. An index in it is a place in the
// paths that [Pattern.Covers] is asked of: [Pattern.Without] and [Pattern.CoversFields] know
// no places, and leave such an entry where it is.
func (p Path) Pattern() Pattern { return Pattern(p) }

// String returns the pattern in its one canonical spelling.
func (p Pattern) String() string { return p.text }

// Without returns the content without the fields that the pattern names. What does
// not change is shared with the content, which is not changed.
func (p Pattern) Without(content map[string]any) map[string]any {
	if len(p.steps) == 0 {
		return content
	}
	if rest, ok := without(content, p.steps).(map[string]any); ok {
		return rest
	}
	return content
}

func without(value any, steps []step) any {
	first, rest := &steps[0], steps[1:]
	if first.kind == stepKey {
		fields, ok := value.(map[string]any)
		inner, set := fields[first.key]
		if !ok || !set {
			return value
		}
		fields = maps.Clone(fields)
		if len(rest) == 0 {
			delete(fields, first.key)
		} else {
			fields[first.key] = without(inner, rest)
		}
		return fields
	}
	list, ok := value.([]any)
	if !ok || first.kind == stepIndex {
		return value
	}
	left := make([]any, 0, len(list))
	for _, entry := range list {
		switch {
		case !first.names(entry):
			left = append(left, entry)
		case len(rest) > 0:
			left = append(left, without(entry, rest))
		}
	}
	return slices.Clip(left)
}

// names says whether the step names an entry of a list.
func (s *step) names(entry any) bool {
	return s.kind == stepEvery || s.selects(entry)
}

// Covers says whether the pattern names the field of a path, or one that the field
// is inside of. An entry that a path names by several fields is covered by each of them.
func (p Pattern) Covers(path Path) bool {
	if len(p.steps) == 0 || len(p.steps) > len(path.steps) {
		return false
	}
	for i, s := range p.steps {
		at := path.steps[i]
		switch {
		case s.kind == stepEvery && at.kind != stepKey:
		case !s.isWithin(at):
			return false
		}
	}
	return true
}

// CoversFields says the same of a path that is given step by step: a string is the name
// of a field, and a map holds the fields that tell an entry of a list apart. Any other
// step is an entry that nothing tells apart.
func (p Pattern) CoversFields(path []any) bool {
	if len(p.steps) == 0 || len(p.steps) > len(path) {
		return false
	}
	for i := range p.steps {
		s := &p.steps[i]
		name, isField := path[i].(string)
		entry, _ := path[i].(map[string]any)
		switch {
		case s.kind == stepKey && (!isField || name != s.key):
			return false
		case s.kind != stepKey && isField, s.kind == stepIndex, s.kind == stepEntry && !s.selects(entry):
			return false
		}
	}
	return true
}
