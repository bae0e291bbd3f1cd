// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

// Documents are an empty one of each document that commands write with -o json and
// -o yaml, by kind. Their JSON Schemas are made from them.
func Documents() map[string]any {
	return map[string]any{
		"Adoption":        Adoption{},
		"Applied":         Applied{},
		"AssertReport":    AssertReport{},
		"Content":         Content{},
		"Deletion":        Deletion{},
		"Diff":            Diff{},
		"Events":          Events{},
		"Explanation":     Explanation{},
		"HandOver":        HandOver{},
		"HelmImport":      HelmImport{},
		"History":         History{},
		"LintReport":      LintReport{},
		"Local":           Local{},
		"Plan":            Plan{},
		"Receipt":         Receipt{},
		"Report":          Report{},
		"Restarts":        Restarts{},
		"RevisionDetails": RevisionDetails{},
		"Rollback":        Rollback{},
		"Stats":           Stats{},
		"Status":          Status{},
		"Trace":           Trace{},
		"Tree":            Tree{},
		"Uninstallation":  Uninstallation{},
		"Version":         Version{},
	}
}
