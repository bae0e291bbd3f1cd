// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Rule names one kind of unsafe change. The set is closed.
type Rule string

const (
	// RuleScope: the scope is another one.
	RuleScope Rule = "Scope"
	// RuleNames: the group, the kind or the plural is another one.
	RuleNames Rule = "Names"
	// RuleStoredVersion: a version is gone in which resources may be stored.
	RuleStoredVersion Rule = "StoredVersion"
	// RuleServedVersion: a version is no longer served.
	RuleServedVersion Rule = "ServedVersion"
	// RuleField: a field is gone, and what was in it is dropped.
	RuleField Rule = "Field"
	// RuleUnknownFields: fields that no schema names, or any keys of a map, were
	// kept and are dropped now.
	RuleUnknownFields Rule = "UnknownFields"
	// RuleType: a value has to be of another type.
	RuleType Rule = "Type"
	// RuleFormat: a value has to be in a format that it did not need.
	RuleFormat Rule = "Format"
	// RuleNullable: a value may no longer be null.
	RuleNullable Rule = "Nullable"
	// RuleRequired: a field without a default has to be set that did not.
	RuleRequired Rule = "Required"
	// RuleDefault: the default of a field was added, changed or removed, which
	// changes the meaning of resources that do not set it.
	RuleDefault Rule = "Default"
	// RuleEnum: fewer values are allowed.
	RuleEnum Rule = "Enum"
	// RuleBound: a minimum or maximum of a value, length, number of entries or
	// properties is tighter, or new.
	RuleBound Rule = "Bound"
	// RulePattern: a string has to match another pattern.
	RulePattern Rule = "Pattern"
	// RuleList: a list is merged by other keys, or has to be free of duplicates.
	RuleList Rule = "List"
	// RuleCombination: allOf, anyOf, oneOf or not demand something that they may not
	// have demanded.
	RuleCombination Rule = "Combination"
	// RuleSize: the schemas are too large to be compared to their end.
	RuleSize Rule = "Size"
)

// Bounds of a comparison.
const (
	// MaxDepth is how many levels of a schema are compared.
	MaxDepth = 100
	// MaxSchemas is how many schemas of a definition are compared.
	MaxSchemas = 200_000
	// MaxFindings is how many findings are kept.
	MaxFindings = 500
)

// Finding is one unsafe change.
type Finding struct {
	// Rule is what it breaks.
	Rule Rule
	// Version is the version it is about, empty when it is about all.
	Version string
	// Path is the field within a resource, such as .spec.hosts[], empty when the
	// finding is not about a field. A [*] stands for any key of a map.
	Path string
	// Message says what changed, in words that follow the path.
	Message string
}

// String is the finding as people read it: "v1 .spec.port: Bound: the minimum ...".
func (f Finding) String() string {
	text := string(f.Rule) + ": " + f.Message
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Version != "" {
		text = f.Version + " " + text
	}
	return text
}

// Compare lists what is unsafe about putting one definition in place of another,
// in the order of versions and fields. The definition before is the live one: of
// its status, storedVersions counts.
func Compare(before, after *apiextensionsv1.CustomResourceDefinition) []Finding {
	c := &comparison{}
	c.compareNames(before, after)
	c.compareVersions(before, after)
	storing, stored := storageOf(before), storageOf(after)
	for i := range before.Spec.Versions {
		if same := versionOf(after, before.Spec.Versions[i].Name); same != nil {
			c.compareVersion(same.Name, &before.Spec.Versions[i], same)
		}
	}
	if storing != nil && stored != nil && storing.Name != stored.Name && !converts(after) {
		c.compareVersion(storing.Name+" stored as "+stored.Name, storing, stored)
	}
	return c.findings
}

// comparison collects findings.
type comparison struct {
	version  string
	findings []Finding
	// schemas counts those that were compared, and full says that too many were.
	schemas int
	full    bool
}

func (c *comparison) addf(rule Rule, path, format string, args ...any) {
	if len(c.findings) >= MaxFindings {
		return
	}
	c.findings = append(c.findings, Finding{Rule: rule, Version: c.version, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) compareNames(before, after *apiextensionsv1.CustomResourceDefinition) {
	if was, is := before.Spec.Scope, after.Spec.Scope; was != is {
		c.addf(RuleScope, "", "the scope was %s and is %s", was, is)
	}
	for _, name := range []struct{ what, was, is string }{
		{"group", before.Spec.Group, after.Spec.Group},
		{"kind", before.Spec.Names.Kind, after.Spec.Names.Kind},
		{"plural", before.Spec.Names.Plural, after.Spec.Names.Plural},
	} {
		if name.was != name.is {
			c.addf(RuleNames, "", "the %s was %q and is %q", name.what, name.was, name.is)
		}
	}
}

func (c *comparison) compareVersions(before, after *apiextensionsv1.CustomResourceDefinition) {
	stored := before.Status.StoredVersions
	if storing := storageOf(before); storing != nil && !slices.Contains(stored, storing.Name) {
		stored = append(slices.Clone(stored), storing.Name)
	}
	for _, name := range stored {
		if versionOf(after, name) == nil {
			c.addf(RuleStoredVersion, "", "version %s is gone, and resources may be stored in it", name)
		}
	}
	for i := range before.Spec.Versions {
		was := &before.Spec.Versions[i]
		is := versionOf(after, was.Name)
		// A stored version that is gone is a finding already.
		named := is == nil && slices.Contains(stored, was.Name)
		if was.Served && (is == nil || !is.Served) && !named {
			c.addf(RuleServedVersion, "", "version %s was served and is not any more", was.Name)
		}
	}
}

func (c *comparison) compareVersion(name string, before, after *apiextensionsv1.CustomResourceDefinitionVersion) {
	c.version = name
	defer func() { c.version = "" }()
	if before.Schema == nil || before.Schema.OpenAPIV3Schema == nil || after.Schema == nil || after.Schema.OpenAPIV3Schema == nil {
		return
	}
	c.full = false
	c.compareSchema("", 0, before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema)
	if c.full {
		c.addf(RuleSize, "", "the schema has more than %d levels, or the definition more than %d schemas: the rest was not compared", MaxDepth, MaxSchemas)
	}
}

func versionOf(definition *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range definition.Spec.Versions {
		if definition.Spec.Versions[i].Name == name {
			return &definition.Spec.Versions[i]
		}
	}
	return nil
}

func storageOf(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range definition.Spec.Versions {
		if definition.Spec.Versions[i].Storage {
			return &definition.Spec.Versions[i]
		}
	}
	return nil
}

// converts says whether a webhook converts between the versions.
func converts(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.Spec.Conversion != nil && definition.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}
