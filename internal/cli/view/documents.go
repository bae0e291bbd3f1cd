// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// DocumentVersion is the apiVersion of the documents that commands write with
// -o json and -o yaml: [History], [Tree], [Status], [Rollback] and [Version].
// Within a version, fields are added, never renamed or removed.
const DocumentVersion = "cli.strata.run/v1alpha1"

// DocumentType is the head of a document.
func DocumentType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: DocumentVersion, Kind: kind}
}
