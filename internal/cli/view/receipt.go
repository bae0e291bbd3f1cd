// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Receipt is the document of the commands that change a Package or a Revision with
// one write: approve, pause, resume and archive.
type Receipt struct {
	metav1.TypeMeta `json:",inline"`

	// Command is the command's name.
	Command string `json:"command"`
	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that it is about, 0 for the whole package.
	Revision int64 `json:"revision,omitempty"`
	// Changed is false when it was so already, and nothing was written.
	Changed bool `json:"changed"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Message says it in words.
	Message string `json:"message"`
	// Digest is the content that was approved.
	Digest string `json:"digest,omitempty"`
	// Gates are the gates that were opened for it.
	Gates []string `json:"gates,omitempty"`
	// Paused is the pause that was set, or that was ended.
	Paused *v1alpha1.Pause `json:"paused,omitempty"`
	// Changes are the objects that the command has the controller change.
	Changes []Change `json:"changes,omitempty"`
}
