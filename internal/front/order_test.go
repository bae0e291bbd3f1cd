// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// A package waits for the ones that it comes after, with its revision and not with
// its Package.
func TestReconciler_After(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	want(t, "the second waits", "revisions", []string{"crds-1"}, f.revisions())
	want(t, "what is waited for is reported", "ControllerInstalled", "Unknown/Pending: istiod waits for package crds", f.installed("a"))
	f.changeStatus("crds", func(s *v1alpha1.PackageStatus) {
		s.TargetRevision = 1
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRollingOut, Message: "phase 1/1"}}
	})
	f.mustPass()
	want(t, "it waits until the first is rolled out", "revisions", []string{"crds-1"}, f.revisions())
	want(t, "and why it takes so long", "ControllerInstalled", "Unknown/Pending: istiod waits for package crds: phase 1/1", f.installed("a"))

	f.rolledOut("crds", 1)
	f.mustPass()
	want(t, "it follows then", "revisions", []string{"crds-1", "plane-1"}, f.revisions())
	f.rolledOut("plane", 1)

	f.rendered = []content.Package{rendering("crds", "2"), rendering("plane", "2", "crds")}
	f.mustPass()
	want(t, "an upgrade waits, too: success of an older revision is not enough", "revisions", []string{"crds-1", "crds-2", "plane-1"}, f.revisions())
	want(t, "what runs is installed", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed (with warning: 1.0-2 waits for package crds)", f.installed("a"))
	f.rolledOut("crds", 2)
	f.mustPass()
	want(t, "it follows then", "revisions", []string{"crds-1", "crds-2", "plane-1", "plane-2"}, f.revisions())
}

// Content that is already rolled out does not wait for anything.
func TestReconciler_AfterWithoutNews(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	f.rolledOut("crds", 1)
	f.mustPass()
	f.rolledOut("plane", 1)
	f.rendered[0] = rendering("crds", "2")
	f.mustPass()
	want(t, "the second has nothing to wait with", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed", f.installed("a"))
}

// What the first is to create exists and is another owner's: that is as good.
func TestReconciler_AfterACollision(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	f.changeStatus("crds", func(s *v1alpha1.PackageStatus) {
		s.TargetRevision = 1
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonObjectCollisions, Message: "x"}}
	})
	f.mustPass()
	want(t, "the second does not wait for what another installer has installed", "revisions", []string{"crds-1", "plane-1"}, f.revisions())
}
