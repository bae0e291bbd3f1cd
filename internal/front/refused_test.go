// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/internal/content"
)

// A resource that a laxer definition of its kind has let through cannot be written to:
// the API server refuses every change of it. That is no trouble of the others.
func TestReconciler_ResourceThatCannotBeWritten(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "GatewayClass"}, "b", nil)
	f.Refuse = func(write string) error {
		if write == "patch b" || write == "status b" {
			return invalid
		}
		return nil
	}
	if _, err := f.pass(); !apierrors.IsInvalid(err) {
		t.Errorf("the pass ends with %v, and has to be made again", err)
	}
	want(t, "the other one is held", "classes", []string{"a!", "b"}, f.classes())
	want(t, "the status of the other one is about its packages alone", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("a"))

	f.class("c", ours)
	f.Writes = nil
	f.Refuse = refusing("patch c")
	if _, err := f.pass(); err == nil {
		t.Error("trouble of another kind is not reported")
	}
	want(t, "what may be over in a moment is waited for", "ControllerInstalled", "", f.installed("c"))
}
