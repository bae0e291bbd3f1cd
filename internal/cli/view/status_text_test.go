// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/pods"
)

// What the manager says of a pod is not said again.
func TestBlockedText_PodOnce(t *testing.T) {
	for message, want := range map[string]string{
		"1 updated": "waits for Deployment a/b: ProbeFailed: 1 updated; Pod b-1: ErrImagePull: not found",
		"1 updated; Pod b-1: ErrImagePull: not found": "waits for Deployment a/b: ProbeFailed: 1 updated; Pod b-1: ErrImagePull: not found",
		"1 updated; Pod b-0: Evicted":                 "waits for Deployment a/b: ProbeFailed: 1 updated; Pod b-0: Evicted; Pod b-1: ErrImagePull: not found",
	} {
		blocking := &TreeObject{ObjectReference: v1alpha1.ObjectReference{Kind: "Deployment", Namespace: "a", Name: "b"}, Reason: "ProbeFailed", Message: message}
		blocking.Pods = []pods.Trouble{{Name: "b-1", Reason: "ErrImagePull", Message: "not found"}}
		if got := BlockedText(Status{Blocking: blocking}); got != want {
			t.Errorf("BlockedText() = %q, want %q", got, want)
		}
	}
}
