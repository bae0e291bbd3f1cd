// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// Error findings keep the content from being rolled out.
	Error Severity = "error"
	// Warning findings are likely mistakes.
	Warning Severity = "warning"
	// Note findings are worth knowing.
	Note Severity = "note"
)

// AtLeast says whether a severity is as bad as another one, or worse.
func (s Severity) AtLeast(other Severity) bool { return rank[s] >= rank[other] }

var rank = map[Severity]int{Note: 1, Warning: 2, Error: 3}

// Codes of the rules. A code keeps its meaning for ever.
const (
	CodeParse        = "PKG0001"
	CodeDuplicate    = "PKG0101"
	CodeNoNamespace  = "PKG0102"
	CodeHasNamespace = "PKG0103"
	CodeUnknownKind  = "PKG0104"
	CodeInvalid      = "PKG0105"
	CodeForeignSpace = "PKG0106"
	CodeLockout      = "PKG0107"
	CodeImmutable    = "PKG0201"
	CodeCRDSafety    = "PKG0202"
	CodeShrink       = "PKG0203"
	CodeAdmission    = "PKG0204"
	CodeProbe        = "PKG0301"
	CodeProbeIdle    = "PKG0302"
	CodeProbeCost    = "PKG0303"
	CodeNoProbe      = "PKG0304"
	CodeSize         = "PKG0401"
	CodeNearSize     = "PKG0402"
)

// Rule is what a code stands for.
type Rule struct {
	// Code is the rule's.
	Code string
	// Name is the rule's for people, in UpperCamel.
	Name string
	// Severity is that of its findings.
	Severity Severity
	// Summary says what it finds.
	Summary string
}

// Rules are all there are, by code.
func Rules() []Rule {
	return []Rule{
		{CodeParse, "Unreadable", Error, "A file cannot be read as manifests."},
		{CodeDuplicate, "Duplicate", Error, "An object is in the content twice."},
		{CodeNoNamespace, "NoNamespace", Warning, "An object of a namespaced kind names no namespace, and takes that of --namespace."},
		{CodeHasNamespace, "NamespaceOfCluster", Error, "An object of a cluster-scoped kind names a namespace."},
		{CodeUnknownKind, "UnknownKind", Error, "The cluster does not serve a kind, and the content does not bring it (with --live)."},
		{CodeInvalid, "Invalid", Error, "A manifest sets what it must not, or lacks what it needs."},
		{CodeForeignSpace, "NamespaceNotIncluded", Note, "An object lives in a namespace that the content does not bring."},
		{CodeLockout, "WebhookLockout", Warning, "A webhook that must be answered covers the pods of its own server, which then cannot come back once it is down."},
		{CodeImmutable, "ImmutableField", Error, "A field changes that cannot be changed (with --against)."},
		{CodeCRDSafety, "UnsafeDefinition", Error, "A CustomResourceDefinition changes in a way that may break custom resources (with --against)."},
		{CodeShrink, "Shrunk", Error, "The content has less than half of the objects of the one before (with --against)."},
		{CodeAdmission, "Refused", Error, "The API server refuses an object (with --live), or the controller would block the content for another reason (with --against)."},
		{CodeProbe, "ProbeDoesNotCompile", Error, "A probe cannot be compiled."},
		{CodeProbeIdle, "ProbeSelectsNothing", Warning, "A probe selects no object of the content."},
		{CodeProbeCost, "ProbeCostly", Warning, "The expression of a probe costs too much for an object of the content, so that it would never be true."},
		{CodeNoProbe, "NoProbe", Note, "Nothing says when the objects of a custom kind are ready: they count as ready at once."},
		{CodeSize, "TooLarge", Error, "The content is too large to be stored as one revision."},
		{CodeNearSize, "NearlyTooLarge", Warning, "The content takes more than three quarters of what can be stored."},
	}
}

// RuleOf is the rule of a code; its code is empty for an unknown one.
func RuleOf(code string) Rule {
	for _, rule := range Rules() {
		if rule.Code == code {
			return rule
		}
	}
	return Rule{}
}

// Finding is something that is wrong.
type Finding struct {
	// Rule is what it violates.
	Rule Rule
	// Object names the object, empty when it is about none.
	Object string
	// Message says what is wrong, and Remedy what to do about it.
	Message, Remedy string
	// File and Line say where; empty and 0 when that is not known.
	File string
	Line int
}
