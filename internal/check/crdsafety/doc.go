// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdsafety says which changes of a CustomResourceDefinition may break
// custom resources that exist, or who writes them. It is pure: [Compare] takes the
// definition before and after, and returns what is unsafe about the change.
//
// The rules are those of OLM's upgrade safety check, with what is known of its
// false alarms designed out. The question of every rule is the same: does the new
// definition still take, and keep, everything that the old one took?
//
//   - Of the whole definition: [RuleScope], [RuleNames], [RuleStoredVersion] and
//     [RuleServedVersion].
//   - Of what can be written at all: [RuleField], [RuleUnknownFields], [RuleType],
//     [RuleFormat], [RuleNullable], [RuleRequired] and [RuleDefault].
//   - Of values: [RuleEnum], [RuleBound], [RulePattern], [RuleList] and
//     [RuleCombination].
//
// The schemas of versions of the same name are compared. When another version
// becomes the one that is stored, and nothing converts, its schema is compared
// with that of the version before, too: this is what the resources are written
// back with.
//
// # What is no finding
//
// Descriptions, titles and examples; new optional fields, with defaults or
// without; a new required field that has a default, since the API server fills it
// in when it reads; more values of an enum; wider bounds; another spelling of the
// same (1 and 1.0, the order of required, nullable false or absent, int64 or no
// format of an integer); an integer that may become a number or an int-or-string;
// the conversion, short names and printer columns.
//
// Combinations (allOf, anyOf, oneOf, not) that only say which fields go together
// are decided exactly, by trying all selections of the fields that existed before.
// Other combinations are safe when they only lose demands or gain alternatives;
// what cannot be decided is a finding.
//
// # Limits
//
// CEL rules (x-kubernetes-validations) are not compared: whether one is narrower
// than another cannot be read from it, every second release of a large project
// adds some, and the API server lets an update pass that leaves an offending value
// as it was. Neither are the fields compared that a schema newly declares within
// an object that keeps unknown fields. Walks end after [MaxDepth] levels and
// [MaxSchemas] schemas with a [RuleSize] finding, never silently.
package crdsafety
