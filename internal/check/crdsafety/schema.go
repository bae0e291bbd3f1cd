// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

// intOrString stands for the type of a schema that takes either.
const intOrString = "int-or-string"

// compareSchema compares the schemas of one field and of everything below it.
func (c *comparison) compareSchema(path string, depth int, before, after *schema) {
	c.schemas++
	if depth > MaxDepth || c.schemas > MaxSchemas {
		c.full = true
		return
	}
	if before == after {
		return
	}
	if was, is := typeOf(before), typeOf(after); !widens(was, is, after) {
		c.addf(RuleType, path, "the type was %s and is %s", orAny(was), orAny(is))
		return
	}
	if before.Nullable && !after.Nullable {
		c.addf(RuleNullable, path, "it could be null and cannot any more")
	}
	if before.XEmbeddedResource != after.XEmbeddedResource && after.XEmbeddedResource {
		c.addf(RuleType, path, "it has to be a Kubernetes object now")
	}
	c.compareDefault(path, before, after)
	c.compareValues(path, before, after)
	c.compareRequired(path, before, after)
	c.compareCombinations(path, before, after)
	c.compareProperties(path, depth, before, after)
	c.compareItems(path, depth, before, after)
}

func typeOf(s *schema) string {
	if s.XIntOrString {
		return intOrString
	}
	return s.Type
}

func orAny(kind string) string {
	if kind == "" {
		return "any"
	}
	return kind
}

// widens says whether everything of the one type is also of the other.
func widens(was, is string, after *schema) bool {
	switch {
	case was == is:
		return true
	case is == "number":
		return was == "integer"
	case is == intOrString:
		return was == "integer" || was == "string"
	case is == "":
		return keepsUnknown(after)
	default:
		return false
	}
}

func keepsUnknown(s *schema) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// compareRequired finds fields that have to be set now. One with a default is
// always set when it is checked.
func (c *comparison) compareRequired(path string, before, after *schema) {
	for _, name := range slices.Sorted(slices.Values(after.Required)) {
		if slices.Contains(before.Required, name) || after.Properties[name].Default != nil {
			continue
		}
		c.addf(RuleRequired, join(path, name), "it is required now, and has no default")
	}
}

// compareProperties compares the fields of an object, and the values of a map.
func (c *comparison) compareProperties(path string, depth int, before, after *schema) {
	if keepsUnknown(before) && !keepsUnknown(after) {
		c.addf(RuleUnknownFields, path, "fields that the schema does not name were kept and are dropped now")
	}
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		was := before.Properties[name]
		if is, kept := after.Properties[name]; kept {
			c.compareSchema(join(path, name), depth+1, &was, &is)
			continue
		}
		is, open := valuesOf(after)
		switch {
		case is != nil:
			c.compareSchema(join(path, name), depth+1, &was, is)
		case !open && !keepsUnknown(after) && !implied(name, depth, before):
			c.addf(RuleField, join(path, name), "the field is gone, and its value is dropped")
		}
	}
	was, opened := valuesOf(before)
	is, open := valuesOf(after)
	switch {
	case !opened || keepsUnknown(after) && is == nil:
	case !open:
		c.addf(RuleUnknownFields, path, "it could hold any key and cannot any more")
	case was != nil && is != nil:
		c.compareSchema(path+"[*]", depth+1, was, is)
	case was == nil && is != nil:
		c.addf(RuleType, path+"[*]", "the type was any and is %s", orAny(typeOf(is)))
	}
}

// implied says whether every object has a field that a schema need not name.
func implied(name string, depth int, s *schema) bool {
	return (depth == 0 || s.XEmbeddedResource) && (name == "apiVersion" || name == "kind" || name == "metadata")
}

// valuesOf is the schema of a map's values, nil for any, and whether it is a map
// at all.
func valuesOf(s *schema) (*schema, bool) {
	if s.AdditionalProperties == nil {
		return nil, false
	}
	if s.AdditionalProperties.Schema != nil {
		return s.AdditionalProperties.Schema, true
	}
	return nil, s.AdditionalProperties.Allows
}

// compareItems compares the entries of a list.
func (c *comparison) compareItems(path string, depth int, before, after *schema) {
	c.compareListType(path, before, after)
	was, is := itemsOf(before), itemsOf(after)
	switch {
	case was != nil && is != nil:
		c.compareSchema(path+"[]", depth+1, was, is)
	case was == nil && is != nil && before.Type == "array":
		c.addf(RuleType, path+"[]", "the type was any and is %s", orAny(typeOf(is)))
	}
}

func itemsOf(s *schema) *schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// compareListType compares how a list is merged. A set or a map takes no
// duplicates, and who applies a part of a list owns other entries than before.
func (c *comparison) compareListType(path string, before, after *schema) {
	was, is := listType(before), listType(after)
	if before.Type != "array" || was == is {
		return
	}
	c.addf(RuleList, path, "the list was %s and is %s", was, is)
}

func listType(s *schema) string {
	if s.XListType == nil {
		return "atomic"
	}
	if len(s.XListMapKeys) == 0 {
		return *s.XListType
	}
	return *s.XListType + " by " + strings.Join(slices.Sorted(slices.Values(s.XListMapKeys)), ", ")
}

// join is the path of a field. A name with a dot is quoted, as in other paths.
func join(path, name string) string {
	if strings.ContainsAny(name, ".[]'") {
		return path + "['" + name + "']"
	}
	return path + "." + name
}
