// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AssertReport is the document of `strata assert` and `strata wait`.
type AssertReport struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that was looked at, 0 when there was none.
	Revision int64 `json:"revision,omitempty"`
	// RevisionUID is the UID of the Revision object.
	RevisionUID string `json:"revisionUID,omitempty"`
	// ContentDigest is the digest of its content.
	ContentDigest string `json:"contentDigest,omitempty"`
	// Version is the application version of its content.
	Version string `json:"version,omitempty"`
	// Kubernetes is the version of the cluster, empty when it is not known.
	Kubernetes string `json:"kubernetes,omitempty"`
	// StartedAt is when it was begun.
	StartedAt metav1.Time `json:"startedAt"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Passed is true when everything holds.
	Passed bool `json:"passed"`
	// ExitCode is what the process exits with.
	ExitCode int `json:"exitCode"`
	// Message says why not.
	Message string `json:"message,omitempty"`
	// Results are in the order of the assertions.
	Results []AssertResult `json:"results"`
}

// AssertResult is what became of one assertion.
type AssertResult struct {
	// Name is the assertion's.
	Name string `json:"name"`
	// Class is rollout, phase, probe, object or package.
	Class string `json:"class"`
	// Result is Passed, Failed (it is false), Error (it could not be read, or can
	// never be so) or Skipped (the rollout has not reached it).
	Result string `json:"result"`
	// Message says what was expected and what was found.
	Message string `json:"message,omitempty"`
	// Seconds is how long it took to become true, and to hold; or until the check
	// ended.
	Seconds float64 `json:"seconds"`
	// HeldSeconds is how long it has held at the end.
	HeldSeconds float64 `json:"heldSeconds,omitempty"`
	// Interruptions is how many times it ceased to hold.
	Interruptions int `json:"interruptions,omitempty"`
}

// Values of a result.
const (
	ResultPassed  = "Passed"
	ResultFailed  = "Failed"
	ResultError   = "Error"
	ResultSkipped = "Skipped"
)
