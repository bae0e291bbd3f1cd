// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "fmt"

// Outcome says what an answer is.
type Outcome string

const (
	// Resolved has a bundle to install, which may be the installed one.
	Resolved Outcome = "Resolved"
	// Kept has none, and what is installed is what was asked for, as far as can be known. The first
	// warning says why it is kept.
	Kept Outcome = "Kept"
	// Retrying has none; a change of a catalog may bring one.
	Retrying Outcome = "Retrying"
	// Blocked has none until the extension, or the bundle in the catalog, is changed.
	Blocked Outcome = "Blocked"
)

// Answer is what Resolve has found.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	// Choice is the bundle to install, for the outcome Resolved alone.
	Choice *Choice `json:"choice,omitempty"`
	// Message is why nothing can be installed, for the outcomes Retrying and Blocked.
	Message string `json:"message,omitempty"`
	// Warnings are what did not change the outcome and a user should know.
	Warnings []string `json:"warnings,omitempty"`
	// Candidates are all bundles of the package in the catalogs that count, by catalog, the best first.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Ignored are the catalogs that do not count, by name, and why.
	Ignored []Ignored `json:"ignored,omitempty"`
	// Deprecation is what the catalog of the choice says of the extension; without a choice, the one that
	// has what is installed, or the one of the highest priority.
	Deprecation Deprecation `json:"deprecation"`
}

// Choice is the bundle to install.
type Choice struct {
	Identity

	Catalog string `json:"catalog"`
	// CatalogDigest is the digest of the [Catalog] that the bundle was found in.
	CatalogDigest string `json:"catalogDigest,omitempty"`
	// Image is the reference as the catalog has it.
	Image string `json:"image"`
	// Edge is why it may follow on what is installed, empty when nothing is, or when it is that.
	Edge string `json:"edge,omitempty"`
	// Deprecated says that the catalog deprecates the bundle.
	Deprecated bool `json:"deprecated,omitempty"`
}

// Ignored is a catalog that does not count.
type Ignored struct {
	Catalog string `json:"catalog"`
	Reason  string `json:"reason"`
}

// Candidate is a bundle that could have been chosen.
type Candidate struct {
	Identity

	Catalog    string `json:"catalog"`
	Deprecated bool   `json:"deprecated,omitempty"`
	// LeftOut is the rule that left it out, empty for the choice.
	LeftOut Rule `json:"leftOut,omitempty"`
	// By is the bundle that was better, for the rules that compare.
	By string `json:"by,omitempty"`
}

// Rule is what leaves a bundle out.
type Rule string

const (
	// NotInChannels is for bundles that no entry of a wanted channel names.
	NotInChannels Rule = "NotInChannels"
	// NotInRange is for versions outside of the wanted range.
	NotInRange Rule = "NotInRange"
	// NoSuccessor is for bundles that no edge of a wanted channel lets follow on what is installed.
	NoSuccessor Rule = "NoSuccessor"
	// NotHighest is for bundles that come after another one of their catalog.
	NotHighest Rule = "NotHighest"
	// InvalidVersion is for versions that do not parse, while there is another bundle.
	InvalidVersion Rule = "InvalidVersion"
	// IsDeprecated is for bundles that are deprecated while another one is not.
	IsDeprecated Rule = "Deprecated"
	// LowerPriority is for the best bundle of a catalog whose priority is lower.
	LowerPriority Rule = "LowerPriority"
	// SamePriority is for the best bundles of catalogs between which their priority does not decide.
	SamePriority Rule = "SamePriority"
	// Undecided is for the best bundle, while a catalog that cannot be read may have a better one.
	Undecided Rule = "Undecided"
	// Forbidden is for the best bundle when it cannot be installed.
	Forbidden Rule = "Forbidden"
)

// Reason says in words why the bundle was left out, empty for the choice.
func (c Candidate) Reason() string {
	switch c.LeftOut {
	case NotInChannels:
		return "it is in none of the channels"
	case NotInRange:
		return fmt.Sprintf("version %s is not in the range", c.Version)
	case NoSuccessor:
		return "no upgrade edge leads to it from the installed version"
	case NotHighest:
		return fmt.Sprintf("%s of the same catalog comes before it", c.By)
	case InvalidVersion:
		return fmt.Sprintf("version %q is no semantic version", c.Version)
	case IsDeprecated:
		return fmt.Sprintf("it is deprecated, and %s is not", c.By)
	case LowerPriority:
		return fmt.Sprintf("its catalog has a lower priority than that of %s", c.By)
	case SamePriority:
		return "another catalog of the same priority has a bundle, too"
	case Undecided:
		return "a catalog that cannot be read may have a better one"
	case Forbidden:
		return "it cannot be installed"
	default:
		return ""
	}
}
