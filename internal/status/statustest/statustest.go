// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// messageLimit bounds a condition's message, in bytes. It is half of what the API
// server takes.
const messageLimit = 16 << 10

// Package checks the conditions of a Package whose status has been written. The
// status may be about an earlier generation, as a whole.
func Package(t testing.TB, pkg *v1alpha1.Package) {
	t.Helper()
	what := "Package " + pkg.Name
	report(t, what, Problems(contract, pkg.Status.ObservedGeneration, pkg.Status.Conditions,
		v1alpha1.ConditionReady, v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable))
	checkGeneration(t, what, pkg.Status.ObservedGeneration, pkg.Generation)
}

// Revision checks the conditions of a Revision whose status has been written. The
// status may be about an earlier generation, as a whole.
func Revision(t testing.TB, revision *v1alpha1.Revision) {
	t.Helper()
	what := "Revision " + revision.Name
	report(t, what, Problems(contract, revision.Status.ObservedGeneration, revision.Status.Conditions,
		v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable))
	checkGeneration(t, what, revision.Status.ObservedGeneration, revision.Generation)
}

func checkGeneration(t testing.TB, what string, observed, generation int64) {
	t.Helper()
	if observed < 1 || observed > generation {
		t.Errorf("%s: status.observedGeneration is %d, and the generation %d", what, observed, generation)
	}
}

// Conditions checks conditions of a front's custom resource. Those that are not
// required may be another controller's, and are not checked.
func Conditions(t testing.TB, c Contract, generation int64, conditions []metav1.Condition, required ...string) {
	t.Helper()
	own := slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return !slices.Contains(required, c.Type) })
	report(t, "conditions", Problems(c, generation, own, required...))
}

func report(t testing.TB, what string, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Errorf("%s: %s", what, problem)
	}
}

// Problems says what is wrong with conditions: a required one is missing, one is
// there twice, its type, reason or the reason's status is not in the contract, its
// message is empty, too long or no text, it is not about the generation, or it
// does not tell since when.
func Problems(contract Contract, generation int64, conditions []metav1.Condition, required ...string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, c := range conditions {
		add := func(format string, args ...any) {
			problems = append(problems, "condition "+c.Type+": "+fmt.Sprintf(format, args...))
		}
		if seen[c.Type] {
			add("it is there twice")
		}
		seen[c.Type] = true
		known, ok := contract[c.Type]
		if !ok {
			add("the type is not known")
			continue
		}
		switch want, ok := known[c.Reason]; {
		case !ok:
			add("the reason %q is not one of its own", c.Reason)
		case c.Status != want:
			add("the reason %s comes with %s, and not with %s", c.Reason, want, c.Status)
		}
		if c.Message == "" || len(c.Message) > messageLimit || !utf8.ValidString(c.Message) {
			add("the message has %d bytes, and must be text of 1 to %d", len(c.Message), messageLimit)
		}
		// What is latched stays as it was when it came true.
		latched := c.Type == v1alpha1.ConditionSucceeded && c.ObservedGeneration > 0 && c.ObservedGeneration <= generation
		if c.ObservedGeneration != generation && !latched {
			add("it is about generation %d, and not about %d", c.ObservedGeneration, generation)
		}
		if c.LastTransitionTime.IsZero() {
			add("it does not tell since when")
		}
	}
	for _, kind := range required {
		if !seen[kind] {
			problems = append(problems, "condition "+kind+": it is missing")
		}
	}
	return problems
}

// Stable checks that the same input gives an equal status, and that a status given
// back with the same results a minute later is left as it is.
func Stable[S any](t *testing.T, reason string, first, again, later S) {
	t.Helper()
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s: the same input gave another status (-first +again):\n%s", reason, diff)
	}
	if diff := cmp.Diff(first, later); diff != "" {
		t.Errorf("%s: the status changes although nothing has (-first +a minute later):\n%s", reason, diff)
	}
}

// Text is what a table says of a condition: its status, reason and message.
func Text(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return string(c.Status) + "/" + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// PackageAt is a package whose conditions Progressing and Available are given as
// status/reason: message, empty for none.
func PackageAt(name string, current int64, progressing, available string) *v1alpha1.Package {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.PackageStatus{CurrentRevision: current}}
	if current != 0 {
		pkg.Status.Version = "1.30.0"
	}
	for _, of := range [][2]string{{v1alpha1.ConditionProgressing, progressing}, {v1alpha1.ConditionAvailable, available}} {
		if of[1] == "" {
			continue
		}
		head, message, _ := strings.Cut(of[1], ": ")
		value, reason, _ := strings.Cut(head, "/")
		pkg.Status.Conditions = append(pkg.Status.Conditions, metav1.Condition{Type: of[0], Status: metav1.ConditionStatus(value), Reason: reason, Message: message})
	}
	return pkg
}
