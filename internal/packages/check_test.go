// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
)

func finding(check preflight.Check) error {
	return &preflight.Error{Findings: []preflight.Finding{{Check: check, Message: "it would do harm", Remedy: "do not"}}}
}

// What a check finds holds back the new content, and nothing else.
func TestWorker_Checked(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.mustSettle(10 * time.Second)
	if len(l.checks) != 1 {
		t.Fatalf("the first revision was checked %d times, want once", len(l.checks))
	}
	l.finding = finding(preflight.CheckShrink)
	next := l.deliver(phase(configMap("a", "2")))
	result, err := l.pass()
	if err != nil || result.RequeueAfter != time.Second {
		t.Errorf("error %v, again after %v; want it to be checked again by itself", err, result.RequeueAfter)
	}
	want(t, "nothing of it is written", "objects", []string{"ConfigMap/a=1"}, l.objects())
	want(t, "why is reported", "conditions", "Ready=False/NotReady Progressing=False/PreflightFailed Available=True/Serving", l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.HasSuffix(message, "it would do harm: do not") {
		t.Errorf("the message is not that of the check: %s", message)
	}
	asked := l.checks[len(l.checks)-1]
	if asked.ContentDigest != next.Spec.ContentDigest || asked.Target.Number != 2 || len(asked.Serving) != 1 || asked.Package.Name != "web" {
		t.Errorf("asked about revision %d with digest %s beside %d others", asked.Target.Number, asked.ContentDigest, len(asked.Serving))
	}

	before := len(l.checks)
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.checks) != before {
		t.Errorf("the same question was asked %d times more within a second", len(l.checks)-before)
	}
	var waits []time.Duration
	for range 7 {
		l.advance(result.RequeueAfter)
		if result, err = l.pass(); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, result.RequeueAfter)
	}
	s := time.Second
	want(t, "the waits grow to a minute", "waits", []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, waits)

	before = len(l.checks)
	l.finding = nil
	l.change(func(pkg *v1alpha1.Package) {
		pkg.Annotations = map[string]string{v1alpha1.AnnotationAllowPrune: next.Spec.ContentDigest}
		pkg.Generation-- // an annotation does not count as one
	})
	l.mustSettle(10 * time.Second)
	if len(l.checks) != before+1 {
		t.Errorf("after a change of the package it was checked %d times, want once at once", len(l.checks)-before)
	}
	want(t, "what passes is rolled out", "objects", []string{"ConfigMap/a=2"}, l.objects())
	want(t, "what passes is rolled out", "conditions", readyLine, l.conditions())
}

// Missing rights are reported as such.
func TestWorker_CheckedRights(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.finding = finding(preflight.CheckPermission)
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(500 * time.Millisecond)
	want(t, "the reason is reported", "conditions", "Ready=False/NotReady Progressing=False/PermissionDenied Available=False/RollingOut", l.conditions())
	l.finding = nil
	l.mustSettle(2 * time.Minute)
	want(t, "it goes on by itself when they are granted", "conditions", readyLine, l.conditions())
}

// What could not be checked is no answer.
func TestWorker_CheckFails(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.finding = errors.New("timeout")
	l.deliver(phase(configMap("a", "1")))
	for range 2 {
		if _, err := l.pass(); err == nil {
			t.Error("the error was not returned, so no retry would follow")
		}
	}
	want(t, "nothing is written", "objects", nil, l.objects())
	want(t, "the cause is reported", "Progressing", "False/RolloutError: revision 1 (1.1.0): timeout", l.condition(v1alpha1.ConditionProgressing))
	if len(l.checks) != 2 {
		t.Errorf("it was asked %d times, want each time", len(l.checks))
	}
}

// Neither what is paused nor what waits for approval is checked before its turn.
func TestWorker_NotCheckedWhileStopped(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual})
	next := l.deliver(phase(configMap("a", "1")))
	l.finding = finding(preflight.CheckImmutable)
	l.mustSettle(10 * time.Second)
	if len(l.checks) != 0 {
		t.Errorf("what waits was checked %d times", len(l.checks))
	}
	l.approve(next.Spec.ContentDigest)
	l.mustSettle(500 * time.Millisecond)
	want(t, "what is approved is checked", "states", []string{"1: Active PreflightFailed"}, l.states())
}
