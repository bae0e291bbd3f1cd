// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWithoutValues_NoReason has an answer as an API server gives it to a Secret that does
// not fit its schema: with the value, and with no reason.
func TestWithoutValues_NoReason(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	answer := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 500, Message: "failed to create typed patch object (default/s; /v1, Kind=Secret): .data.pin: expected string, got &value.valueUnstructured{Value:4711}",
	}}
	got := withoutValues(secret, fmt.Errorf("applying: %w", answer)).Error()
	if strings.Contains(got, "4711") || !strings.Contains(got, "without a reason") {
		t.Errorf("the error quotes the Secret: %s", got)
	}
}
