// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Applied is the document of `strata apply`: what was planned, and what came of it.
type Applied struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// PackageCreated is true when the package was made.
	PackageCreated bool `json:"packageCreated,omitempty"`
	// Revision is the revision that was made, 0 when none was.
	Revision int64 `json:"revision,omitempty"`
	// Target is the package's target now.
	Target int64 `json:"target,omitempty"`
	// Refused is why nothing was applied, empty when it was.
	Refused string `json:"refused,omitempty"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Plan is what was planned.
	Plan Plan `json:"plan"`
	// Rollout is how the rollout stands at the end; with --wait only.
	Rollout *Status `json:"rollout,omitempty"`
}
