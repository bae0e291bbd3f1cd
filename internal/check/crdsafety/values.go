// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// compareValues compares what a schema demands of a value besides its type.
func (c *comparison) compareValues(path string, before, after *schema) {
	c.compareFormat(path, before, after)
	c.compareEnum(path, before, after)
	c.compareNumbers(path, before, after)
	for _, b := range countBounds {
		c.compareCount(path, b, b.of(before), b.of(after))
	}
	if after.Pattern != "" && before.Pattern != after.Pattern {
		c.addf(RulePattern, path, "the pattern was %q and is %q", before.Pattern, after.Pattern)
	}
	if after.UniqueItems && !before.UniqueItems {
		c.addf(RuleList, path, "its entries have to differ now")
	}
}

// checkedFormats are those whose values an API server checks. Others are text for
// readers.
var checkedFormats = []string{
	"bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email", "hexcolor",
	"hostname", "ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password",
	"rgbcolor", "ssn", "uri", "uuid", "uuid3", "uuid4", "uuid5",
}

// formatSizes order the formats of numbers. An integer without a format has 64
// bits, a number is a double.
var formatSizes = map[string]int{"int32": 32, "int64": 64, "float": 32, "double": 64}

func (c *comparison) compareFormat(path string, before, after *schema) {
	was, is := octets(before.Format), octets(after.Format)
	narrower := false
	switch after.Type {
	case "integer", "number":
		narrower = sizeOf(is) < sizeOf(was)
	case "string":
		narrower = was != is && slices.Contains(checkedFormats, strings.ReplaceAll(is, "_", "-"))
	}
	if narrower {
		c.addf(RuleFormat, path, "the format was %q and is %q", before.Format, after.Format)
	}
}

// octets takes the two names of octets for one: JSON can only hold text, so who
// wrote or read a "binary" did so in base64, as "byte" says.
func octets(format string) string {
	if format == "binary" {
		return "byte"
	}
	return format
}

func sizeOf(format string) int {
	if size, known := formatSizes[format]; known {
		return size
	}
	return 64
}

func (c *comparison) compareDefault(path string, before, after *schema) {
	was, is := canonical(before.Default), canonical(after.Default)
	switch {
	case was == is:
	case was == "":
		c.addf(RuleDefault, path, "it had no default and has %s", short(is))
	case is == "":
		c.addf(RuleDefault, path, "it had the default %s and has none", short(was))
	default:
		c.addf(RuleDefault, path, "the default was %s and is %s", short(was), short(is))
	}
}

func (c *comparison) compareEnum(path string, before, after *schema) {
	if len(after.Enum) == 0 {
		return
	}
	allowed := texts(after.Enum)
	if len(before.Enum) == 0 {
		c.addf(RuleEnum, path, "it could be any value, and only %s are allowed now", short(strings.Join(allowed, ", ")))
		return
	}
	var gone []string
	for _, value := range texts(before.Enum) {
		if !slices.Contains(allowed, value) {
			gone = append(gone, value)
		}
	}
	if len(gone) > 0 {
		c.addf(RuleEnum, path, "it cannot be %s any more", short(strings.Join(gone, ", ")))
	}
}

// compareNumbers compares the bounds of a number.
func (c *comparison) compareNumbers(path string, before, after *schema) {
	if is := after.Minimum; is != nil {
		was := before.Minimum
		if was == nil || *is > *was || *is == *was && after.ExclusiveMinimum && !before.ExclusiveMinimum {
			c.addf(RuleBound, path, "the minimum was %s and is %s", number(was, before.ExclusiveMinimum), number(is, after.ExclusiveMinimum))
		}
	}
	if is := after.Maximum; is != nil {
		was := before.Maximum
		if was == nil || *is < *was || *is == *was && after.ExclusiveMaximum && !before.ExclusiveMaximum {
			c.addf(RuleBound, path, "the maximum was %s and is %s", number(was, before.ExclusiveMaximum), number(is, after.ExclusiveMaximum))
		}
	}
	if is := after.MultipleOf; is != nil && (before.MultipleOf == nil || *before.MultipleOf != *is) {
		c.addf(RuleBound, path, "it had to be a multiple of %s and has to be one of %s", number(before.MultipleOf, false), number(is, false))
	}
}

func number(value *float64, exclusive bool) string {
	switch {
	case value == nil:
		return "none"
	case exclusive:
		return strconv.FormatFloat(*value, 'g', -1, 64) + " (exclusive)"
	default:
		return strconv.FormatFloat(*value, 'g', -1, 64)
	}
}

// countBound is a bound of how much a value holds.
type countBound struct {
	name  string
	upper bool
	of    func(*schema) *int64
}

var countBounds = []countBound{
	{"minLength", false, func(s *schema) *int64 { return s.MinLength }},
	{"maxLength", true, func(s *schema) *int64 { return s.MaxLength }},
	{"minItems", false, func(s *schema) *int64 { return s.MinItems }},
	{"maxItems", true, func(s *schema) *int64 { return s.MaxItems }},
	{"minProperties", false, func(s *schema) *int64 { return s.MinProperties }},
	{"maxProperties", true, func(s *schema) *int64 { return s.MaxProperties }},
}

func (c *comparison) compareCount(path string, b countBound, was, is *int64) {
	if is == nil || !b.upper && *is <= 0 {
		return
	}
	text := "none"
	if was != nil {
		text = strconv.FormatInt(*was, 10)
	}
	if was == nil || b.upper && *is < *was || !b.upper && *is > *was {
		c.addf(RuleBound, path, "%s was %s and is %d", b.name, text, *is)
	}
}

// canonical is a JSON value in one spelling, empty for none.
func canonical(value *apiextensionsv1.JSON) string {
	if value == nil || len(value.Raw) == 0 {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(value.Raw))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return string(value.Raw)
	}
	// Maps are written with sorted keys, and numbers in one spelling.
	data, err := json.Marshal(plain(decoded))
	if err != nil {
		return string(value.Raw)
	}
	return string(data)
}

// plain replaces numbers by their shortest spelling.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if integer, err := v.Int64(); err == nil {
			return integer
		}
		if float, err := v.Float64(); err == nil {
			if float == float64(int64(float)) && float > -(1<<53) && float < 1<<53 {
				return int64(float)
			}
			return float
		}
		return v.String()
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return value
}

func texts(values []apiextensionsv1.JSON) []string {
	all := make([]string, 0, len(values))
	for i := range values {
		all = append(all, canonical(&values[i]))
	}
	return all
}

// short keeps a message readable whatever a schema says.
func short(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}
