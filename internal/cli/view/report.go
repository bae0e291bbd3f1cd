// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Report is the document of `strata report`, and the file report.json of the bundle.
type Report struct {
	metav1.TypeMeta `json:",inline"`

	// File is the bundle.
	File string `json:"file"`
	// CreatedAt is when it was made.
	CreatedAt metav1.Time `json:"createdAt"`
	// Packages are those that it is about.
	Packages []string `json:"packages"`
	// Entries are the files in it.
	Entries []string `json:"entries"`
	// Unread says what could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}
