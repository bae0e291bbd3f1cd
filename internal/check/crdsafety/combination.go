// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of an exact decision: all selections of so many fields are tried, on so
// many schemas each.
const (
	maxFields = 12
	maxParts  = 200
)

// compareCombinations compares allOf, anyOf, oneOf and not.
func (c *comparison) compareCombinations(path string, before, after *schema) {
	was, is := combinationOf(before), combinationOf(after)
	if spelled(&was) == spelled(&is) || isEmpty(&is) {
		return
	}
	if fields, ok := choices(&was, &is); ok {
		if refused, found := refusedChoice(before, after, fields); found {
			c.addf(RuleCombination, path, "it could have %s set together, and cannot any more", refused)
		}
		return
	}
	if reason := undecided(&was, &is); reason != "" {
		c.addf(RuleCombination, path, "%s, and it is unknown whether it allows what was allowed before", reason)
	}
}

// combinationOf is a schema with nothing but its combinations.
func combinationOf(s *schema) schema {
	combination := schema{AllOf: s.AllOf, AnyOf: s.AnyOf, OneOf: s.OneOf, Not: s.Not}
	if s.XIntOrString && len(s.AnyOf) == 2 && s.AnyOf[0].Type == "integer" && s.AnyOf[1].Type == "string" {
		// This is how the type int-or-string is written out.
		combination.AnyOf = nil
	}
	return combination
}

func isEmpty(s *schema) bool {
	return len(s.AllOf) == 0 && len(s.AnyOf) == 0 && len(s.OneOf) == 0 && s.Not == nil
}

// choices are the fields that combinations speak of. It is not ok when they demand
// more than that fields are set or not, or are too large.
func choices(was, is *schema) ([]string, bool) {
	names, parts := map[string]bool{}, 0
	if !collect(was, names, &parts) || !collect(is, names, &parts) || len(names) > maxFields {
		return nil, false
	}
	return slices.Sorted(maps.Keys(names)), true
}

// collect gathers the required fields of a combination, and says whether it
// demands nothing else.
func collect(s *schema, names map[string]bool, parts *int) bool {
	*parts++
	if *parts > maxParts {
		return false
	}
	rest := *s
	rest.Required, rest.AllOf, rest.AnyOf, rest.OneOf, rest.Not = nil, nil, nil, nil, nil
	if rest.Type == "object" {
		rest.Type = ""
	}
	if spelled(&rest) != "{}" {
		return false
	}
	for _, name := range s.Required {
		names[name] = true
	}
	return !slices.ContainsFunc(partsOf(s), func(part *schema) bool { return !collect(part, names, parts) })
}

func partsOf(s *schema) []*schema {
	var all []*schema
	for _, list := range [][]schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	if s.Not != nil {
		all = append(all, s.Not)
	}
	return all
}

// refusedChoice looks for fields that could be set together before and cannot any
// more. Fields that did not exist before are not set, unless by default.
func refusedChoice(before, after *schema, fields []string) (string, bool) {
	was, is := combinationOf(before), combinationOf(after)
	known := slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return !keeps(before, name) })
	for selection := range 1 << len(known) {
		set := map[string]bool{}
		for i, name := range known {
			set[name] = selection&(1<<i) != 0
		}
		if !accepts(&was, read(set, before, fields)) || !accepts(&schema{Required: requiredOf(before, fields)}, set) {
			continue
		}
		if !accepts(&is, read(set, after, fields)) {
			return describe(set), true
		}
	}
	return "", false
}

// keeps says whether an object can hold a field.
func keeps(s *schema, name string) bool {
	_, declared := s.Properties[name]
	return declared || keepsUnknown(s) || s.AdditionalProperties != nil
}

// requiredOf are those of the fields that a schema requires by itself.
func requiredOf(s *schema, fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(name string) bool {
		return !slices.Contains(s.Required, name) || s.Properties[name].Default != nil
	})
}

// read is a selection as an API server reads it: with the fields that have a
// default, and without those that the schema does not keep.
func read(set map[string]bool, s *schema, fields []string) map[string]bool {
	all := maps.Clone(set)
	for _, name := range fields {
		all[name] = s.Properties[name].Default != nil || all[name] && keeps(s, name)
	}
	return all
}

func describe(set map[string]bool) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none of the fields"
	}
	return fmt.Sprint(names)
}

// accepts says whether a combination takes an object with just these fields.
func accepts(s *schema, set map[string]bool) bool {
	for _, name := range s.Required {
		if !set[name] {
			return false
		}
	}
	if s.Not != nil && accepts(s.Not, set) {
		return false
	}
	count := func(list []schema) int {
		n := 0
		for i := range list {
			if accepts(&list[i], set) {
				n++
			}
		}
		return n
	}
	return count(s.AllOf) == len(s.AllOf) &&
		(len(s.AnyOf) == 0 || count(s.AnyOf) > 0) &&
		(len(s.OneOf) == 0 || count(s.OneOf) == 1)
}

// undecided says what of a combination may be narrower, nothing when it is not.
func undecided(was, is *schema) string {
	if !within(is.AllOf, was.AllOf) {
		return "allOf has a demand that is new"
	}
	if len(is.AnyOf) > 0 && (len(was.AnyOf) == 0 || !within(was.AnyOf, is.AnyOf)) {
		return "anyOf is new, or has lost an alternative"
	}
	if len(is.OneOf) > 0 && (!within(was.OneOf, is.OneOf) || !within(is.OneOf, was.OneOf)) {
		return "oneOf has changed"
	}
	if is.Not != nil && (was.Not == nil || spelled(was.Not) != spelled(is.Not)) {
		return "not has changed"
	}
	return ""
}

// within says whether all schemas of one list stand in the other.
func within(some, all []schema) bool {
	known := map[string]bool{}
	for i := range all {
		known[spelled(&all[i])] = true
	}
	return !slices.ContainsFunc(some, func(s schema) bool { return !known[spelled(&s)] })
}

// spelled is a schema in one spelling, without what is meant for readers.
func spelled(s *schema) string {
	data, err := json.Marshal(s)
	if err != nil {
		return s.String()
	}
	var decoded map[string]any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return string(data)
	}
	data, err = json.Marshal(withoutWords(decoded))
	if err != nil {
		return s.String()
	}
	return string(data)
}

// withoutWords drops what is meant for readers from a schema, and sorts what has
// no order.
func withoutWords(s map[string]any) map[string]any {
	for _, word := range []string{"description", "title", "example", "externalDocs"} {
		delete(s, word)
	}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range entries(s[list]) {
			withoutWords(part)
		}
	}
	for _, single := range []string{"not", "items", "additionalProperties"} {
		if part, ok := s[single].(map[string]any); ok {
			withoutWords(part)
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, property := range properties {
			if part, ok := property.(map[string]any); ok {
				withoutWords(part)
			}
		}
	}
	if required, ok := s["required"].([]any); ok {
		slices.SortFunc(required, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return s
}

func entries(value any) []map[string]any {
	list, _ := value.([]any)
	parts := make([]map[string]any, 0, len(list))
	for _, entry := range list {
		if part, ok := entry.(map[string]any); ok {
			parts = append(parts, part)
		}
	}
	return parts
}
