// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

func TestTracked(t *testing.T) {
	type look struct {
		at      time.Duration
		truth   truth
		verdict view.Verdict
	}
	const sec = time.Second
	cases := map[string]struct {
		reason           string
		within, holdsFor time.Duration
		looks            []look
		result           string
		code             Code
		interruptions    int
	}{
		"AtOnce":        {reason: "True once is enough.", looks: []look{{0, isTrue, view.VerdictRolledOut}}, result: view.ResultPassed},
		"FalseAtOnce":   {reason: "Without within it has to be true at once.", looks: []look{{0, isFalse, view.VerdictInProgress}}, result: view.ResultFailed, code: CodeFalse},
		"InTime":        {reason: "It may become true.", within: 10 * sec, looks: []look{{0, isFalse, view.VerdictInProgress}, {9 * sec, isTrue, view.VerdictInProgress}}, result: view.ResultPassed},
		"TooLate":       {reason: "4 is that it goes on.", within: 10 * sec, looks: []look{{0, isFalse, view.VerdictInProgress}, {10 * sec, isFalse, view.VerdictInProgress}}, result: view.ResultFailed, code: CodeTimeout},
		"DoneAndFalse":  {reason: "1 is that nothing goes on.", within: 10 * sec, looks: []look{{0, isFalse, view.VerdictRolledOut}, {10 * sec, isFalse, view.VerdictRolledOut}}, result: view.ResultFailed, code: CodeFalse},
		"Terminal":      {reason: "A rollout that has failed ends it at once.", within: 10 * sec, looks: []look{{0, isFalse, view.VerdictInProgress}, {sec, isFalse, view.VerdictFailed}}, result: view.ResultFailed, code: CodeTerminal},
		"TrueAnyway":    {reason: "What is so is so, whatever the rollout does.", looks: []look{{0, isTrue, view.VerdictFailed}}, result: view.ResultPassed},
		"NotReached":    {reason: "What was never reached was skipped.", within: sec, looks: []look{{0, notReached, view.VerdictInProgress}, {sec, notReached, view.VerdictInProgress}}, result: view.ResultSkipped, code: CodeTimeout},
		"Impossible":    {reason: "A name that does not exist is an error at once.", within: 10 * sec, looks: []look{{0, impossible, view.VerdictInProgress}}, result: view.ResultError, code: CodeFalse},
		"Unread":        {reason: "A first read has its time also without within.", looks: []look{{0, unread, view.VerdictInProgress}, {sec, isTrue, view.VerdictInProgress}}, result: view.ResultPassed},
		"NeverRead":     {reason: "But not for ever.", looks: []look{{0, unread, view.VerdictInProgress}, {readTimeout, unread, view.VerdictInProgress}}, result: view.ResultError, code: CodeUnreachable},
		"Unreadable":    {reason: "What may not be read is an error.", looks: []look{{0, unreadable, view.VerdictRolledOut}}, result: view.ResultError, code: CodeFalse},
		"Holds":         {reason: "It has to hold on.", holdsFor: 5 * sec, looks: []look{{0, isTrue, view.VerdictRolledOut}, {5 * sec, isTrue, view.VerdictRolledOut}}, result: view.ResultPassed},
		"NotYet":        {reason: "Undecided until it has held.", holdsFor: 5 * sec, looks: []look{{0, isTrue, view.VerdictRolledOut}, {4 * sec, isTrue, view.VerdictRolledOut}}},
		"Flaps":         {reason: "An interruption ends it without within.", holdsFor: 5 * sec, looks: []look{{0, isTrue, view.VerdictRolledOut}, {4 * sec, isFalse, view.VerdictRolledOut}}, result: view.ResultFailed, code: CodeFalse, interruptions: 1},
		"FlapsInTime":   {reason: "With within it begins anew.", within: 9 * sec, holdsFor: 5 * sec, looks: []look{{0, isTrue, view.VerdictRolledOut}, {4 * sec, isFalse, view.VerdictRolledOut}, {6 * sec, isTrue, view.VerdictRolledOut}, {11 * sec, isTrue, view.VerdictRolledOut}}, result: view.ResultPassed, interruptions: 1},
		"HoldsPastTime": {reason: "What became true in time may hold beyond it.", within: 2 * sec, holdsFor: 5 * sec, looks: []look{{0, isFalse, view.VerdictInProgress}, {sec, isTrue, view.VerdictInProgress}, {3 * sec, isTrue, view.VerdictInProgress}, {6 * sec, isTrue, view.VerdictInProgress}}, result: view.ResultPassed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			one := &tracked{check: check{within: tc.within, holdsFor: tc.holdsFor}, started: fixtureNow}
			for _, l := range tc.looks {
				one.take(finding{truth: l.truth}, l.verdict, fixtureNow.Add(l.at))
			}
			if one.result != tc.result || one.code != tc.code || one.interruptions != tc.interruptions {
				t.Errorf("%s Got %q, code %d, %d interruptions; want %q, %d, %d", tc.reason, one.result, one.code, one.interruptions, tc.result, tc.code, tc.interruptions)
			}
			if (one.next().IsZero()) != (tc.result != "") {
				t.Errorf("%s To be looked at next at %v", tc.reason, one.next())
			}
		})
	}
}

func TestReadAssertions(t *testing.T) {
	const head = "apiVersion: cli.strata.run/v1alpha1\nkind: Assertions\n"
	cases := map[string]struct {
		reason, text, err string
	}{
		"Good":     {reason: "All forms.", text: head + "within: 1m\nasserts:\n- rolledOut: true\n- {phase: a, holdsFor: 2s}\n- {probe: b}\n- {available: true}\n- {object: {kind: Deployment, name: x}, cel: {expression: 'true'}}\n- {condition: {type: Ready}}\n- {object: {apiVersion: v1, kind: ConfigMap, name: x}, fieldValue: {path: .data.a, value: b}}\n"},
		"Unknown":  {reason: "A typing error must not pass.", text: head + "asserts:\n- rolledOff: true\n", err: "unknown field"},
		"Kind":     {reason: "Another kind of file.", text: "apiVersion: v1\nkind: List\nasserts: []\n", err: "kind: Assertions"},
		"Empty":    {reason: "It would always pass.", text: head + "asserts: []\n", err: "asserts is empty"},
		"Two":      {reason: "One thing at a time.", text: head + "asserts:\n- {phase: a, probe: b}\n", err: "asserts[0]: exactly one of"},
		"None":     {reason: "And one thing at least.", text: head + "asserts:\n- {name: x}\n", err: "asserts[0] x: exactly one of"},
		"NotAbout": {reason: "A phase is no object.", text: head + "asserts:\n- {phase: a, object: {kind: A, name: b}}\n", err: "is not about an object"},
		"NoName":   {reason: "An object has a name.", text: head + "asserts:\n- {object: {kind: A}, cel: {expression: 'true'}}\n", err: "needs kind and name"},
		"Negative": {reason: "Time goes on.", text: head + "asserts:\n- {phase: a, within: -1s}\n", err: "negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := readAssertions([]byte(tc.text))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("%s Got %v, want %q", tc.reason, err, tc.err)
			}
			if tc.err != "" {
				return
			}
			for i, a := range file.Asserts {
				if _, err := checkOf(a); err != nil || ptr.Deref(a.Within, metav1.Duration{}).Duration != time.Minute {
					t.Errorf("asserts[%d]: within %v, %v", i, a.Within, err)
				}
			}
		})
	}
}

func TestMoment(t *testing.T) {
	of := func(name string) moment {
		f := fixtureNamed(t, name)
		m := moment{Snapshot: f.view}
		m.revision = view.HistoryOf(m.Package, m.Revisions).Target
		if m.revision != nil {
			m.revision.Spec.Probes = []v1alpha1.Probe{
				{Name: "pilot", Selector: v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment"}},
				{Name: "roles", Selector: v1alpha1.ProbeSelector{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}},
				{Name: "hooks", Selector: v1alpha1.ProbeSelector{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}},
				{Name: "nothing", Selector: v1alpha1.ProbeSelector{Kind: "Pod"}},
			}
		}
		return m
	}
	bad := of("bad_image")
	cases := map[string]struct {
		got  finding
		want truth
		text string
	}{
		"PhaseComplete":   {got: bad.checkPhase("rbac-and-config"), want: isTrue, text: "13 of 13"},
		"PhaseFalse":      {got: bad.checkPhase("control-plane"), want: isFalse, text: "found Progressing with 2 of 3 objects ready: Deployment openshift-ingress/istiod-openshift-gateway: ProbeFailed"},
		"PhaseNotReached": {got: bad.checkPhase("webhooks"), want: notReached},
		"PhaseUnknown":    {got: bad.checkPhase("other"), want: impossible, text: "rbac-and-config, control-plane, webhooks"},
		"ProbeFalse":      {got: bad.checkProbe("pilot"), want: isFalse, text: "0 of 1 updated replicas"},
		"ProbeTrue":       {got: bad.checkProbe("roles"), want: isTrue, text: "10 objects"},
		"ProbeNotReached": {got: bad.checkProbe("hooks"), want: notReached},
		"ProbeOfNothing":  {got: bad.checkProbe("nothing"), want: impossible, text: "selects no object"},
		"ProbeUnknown":    {got: bad.checkProbe("x"), want: impossible, text: "pilot, roles"},
		"NotRolledOut":    {got: checkRolledOut(bad), want: isFalse, text: "RollingOut"},
		"Available":       {got: checkAvailable(bad), want: isTrue},
		"RolledOut":       {got: checkRolledOut(of("done")), want: isTrue},
		"NotObserved":     {got: checkAvailable(of("not_observed")), want: isFalse, text: view.NotObservedMessage},
		"NoRevision":      {got: of("no_revision").checkPhase("x"), want: notReached},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got.truth != tc.want || !strings.Contains(tc.got.message, tc.text) {
				t.Errorf("got %d: %s; want %d with %q", tc.got.truth, tc.got.message, tc.want, tc.text)
			}
		})
	}
}

func TestAssert(t *testing.T) {
	cases := map[string]struct {
		reason, fixture string
		args            []string
		code            Code
		out, err        string
	}{
		"Done":        {reason: "All is as it should be.", fixture: "done", code: CodeOK, out: "istiod-openshift-gateway revision 3 (1.31.0): 22 of 22 hold"},
		"Held":        {reason: "1 is that something is not so.", fixture: "bad_image", code: CodeFalse, out: "· phase webhooks  not reached", err: "next      kubectl -n openshift-ingress describe pod"},
		"Terminal":    {reason: "3 is that it cannot become so.", fixture: "collision", code: CodeTerminal, out: "✘ rolled out"},
		"Timeout":     {reason: "4 is that it goes on.", fixture: "bad_image", args: []string{"--for", "phase=control-plane", "--within", "200ms"}, code: CodeTimeout, out: "expected Complete, found Progressing"},
		"Superseded":  {reason: "5 is that it was replaced.", fixture: "done", args: []string{"--revision", "2"}, code: CodeSuperseded, out: "revision 2 was superseded"},
		"NotFound":    {reason: "6 is that it is not there.", code: CodeNotFound, err: "not in the cluster"},
		"NoRevision":  {reason: "So is a revision.", fixture: "done", args: []string{"--revision", "9", "--for", "rolledout"}, code: CodeNotFound},
		"BuiltIn":     {reason: "One thing can be asked.", fixture: "done", args: []string{"--for", "available"}, code: CodeOK, out: "✔ available  holds"},
		"WrongFor":    {reason: "The forms are named.", fixture: "done", args: []string{"--for", "happy"}, code: CodeUsage, err: "condition=TYPE"},
		"WrongStatus": {reason: "So are the statuses.", fixture: "done", args: []string{"--for", "condition=Ready=Yes"}, code: CodeUsage, err: "True, False or Unknown"},
		"NoFile":      {reason: "A file that is not there.", fixture: "done", args: []string{"-f", "nowhere.yaml"}, code: CodeUsage, err: "nowhere.yaml"},
		"JSON":        {reason: "The code is the same.", fixture: "collision", args: []string{"-o", "json"}, code: CodeTerminal, out: `"exitCode": 3`},
		"JSONPath":    {reason: "And a part of the report.", fixture: "done", args: []string{"-o", "jsonpath={.passed}"}, code: CodeOK, out: "true\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			if tc.fixture != "" {
				f = fixtureNamed(t, tc.fixture)
			}
			tm := newTerminal(t, f)
			tm.now = time.Now
			tm.run(append([]string{"assert", fixturePackage}, tc.args...)...).wants(t, tc.code, tc.out, tc.err)
			if t.Failed() {
				t.Log(tc.reason)
			}
		})
	}
}

func TestAssert_JUnit(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	path := filepath.Join(t.TempDir(), "report.xml")
	r := tm.run("assert", fixturePackage, "--for", "phase=rbac-and-config", "--for", "phase=control-plane", "--for", "phase=webhooks", "--for", "phase=other", "-o", "junit", "--junit", path)
	r.wants(t, CodeFalse, "", "")
	golden(t, "junit", r.out)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.out, string(written)); diff != "" {
		t.Errorf("-stdout, +file:\n%s", diff)
	}
	var suites view.JunitSuites
	if err := xml.Unmarshal(written, &suites); err != nil {
		t.Fatal(err)
	}
	s := suites.Suites[0]
	if s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 {
		t.Errorf("got %+v", s)
	}
}

// begin starts a command that waits.
func (tm *terminal) begin(args ...string) *watching {
	tm.t.Helper()
	w := &watching{t: tm.t, tm: tm, done: make(chan Code, 1)}
	tm.now = time.Now
	go func() { w.done <- tm.start(tm.t.Context(), &w.out, &w.err, args...) }()
	return w
}

func TestWait(t *testing.T) {
	t.Run("RolledOut", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "rolling_out")).begin("wait", fixturePackage)
		w.sees("revision 3 (1.31.0) is the target")
		w.becomes("done")
		w.sees("package/istiod-openshift-gateway rolled out")
		w.ends(CodeOK)
	})
	t.Run("Terminal", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "rolling_out")).begin("wait", fixturePackage)
		w.sees("is the target")
		w.becomes("collision")
		w.sees("waiting does not help")
		w.ends(CodeTerminal)
	})
	t.Run("Timeout", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "bad_image")).begin("wait", fixturePackage, "--timeout", "300ms")
		w.sees("not within 300ms")
		w.sees("blocking  Deployment")
		w.ends(CodeTimeout)
	})
	t.Run("Superseded", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "rolling_out")).begin("wait", fixturePackage, "--revision", "2")
		w.sees("revision 2 was superseded: revision 3")
		w.ends(CodeSuperseded)
		if text := w.err.String(); strings.Contains(text, "  next ") {
			t.Errorf("it says what holds the revision that took its place:\n%s", text)
		}
	})
	t.Run("NextRevision", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "bad_image")).begin("wait", fixturePackage, "--revision", "4")
		w.sees("revision 3 (1.31.0) is the target")
		w.becomes("rolled_back")
		w.ends(CodeOK)
	})
	t.Run("RevisionToCome", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "collision")).begin("wait", fixturePackage, "--revision", "4", "--timeout", "300ms")
		w.sees("it has no revision 4")
		w.ends(CodeTimeout)
	})
	t.Run("NotFound", func(t *testing.T) {
		newTerminal(t, nil).begin("wait", fixturePackage).ends(CodeNotFound)
	})
	t.Run("Creation", func(t *testing.T) {
		w := newTerminal(t, nil).begin("wait", fixturePackage, "--wait-for-creation", "--for", "available", "--for", "ready")
		w.becomes("done")
		w.ends(CodeOK)
	})
	t.Run("NeverCreated", func(t *testing.T) {
		newTerminal(t, nil).begin("wait", fixturePackage, "--wait-for-creation", "--timeout", "200ms").ends(CodeTimeout)
	})
	t.Run("WasDeleted", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "rolling_out")).begin("wait", fixturePackage)
		w.sees("is the target")
		w.tm.server.remove(packagesPath, fixturePackage)
		w.sees("was deleted")
		w.ends(CodeNotFound)
	})
	t.Run("Deleted", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "deleting")).begin("wait", fixturePackage, "--for", "deleted")
		w.sees("is the target")
		w.tm.server.remove(packagesPath, fixturePackage)
		w.ends(CodeOK)
	})
	t.Run("Impossible", func(t *testing.T) {
		newTerminal(t, fixtureNamed(t, "bad_image")).begin("wait", fixturePackage, "--for", "phase=nope").ends(CodeFalse)
	})
	t.Run("Holds", func(t *testing.T) {
		w := newTerminal(t, fixtureNamed(t, "done")).begin("wait", fixturePackage, "--for", "condition=Ready", "--holds-for", "700ms")
		w.ends(CodeOK)
	})
	t.Run("Preflight", func(t *testing.T) {
		f := fixtureNamed(t, "rolling_out")
		f.progressing(&f.view.Revisions[2], "False", v1alpha1.ReasonPreflightFailed, "may not create pods")
		newTerminal(t, f).begin("wait", fixturePackage).ends(CodeTerminal)
	})
	t.Run("Usage", func(t *testing.T) {
		newTerminal(t, nil).begin("wait", fixturePackage, "--timeout", "0").ends(CodeUsage)
	})
}

// TestWait_Prompt ends soon after the event that decides, not with a tick.
func TestWait_Prompt(t *testing.T) {
	w := newTerminal(t, fixtureNamed(t, "rolling_out")).begin("wait", fixturePackage)
	w.sees("is the target")
	begun := time.Now()
	w.becomes("done")
	w.ends(CodeOK)
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestAssert_File has a live object that becomes what is asserted of it.
func TestAssert_File(t *testing.T) {
	path := filepath.Join(t.TempDir(), "asserts.yaml")
	const file = `apiVersion: cli.strata.run/v1alpha1
kind: Assertions
within: 1m
asserts:
- name: one pod waits
  object: {apiVersion: v1, kind: Pod, namespace: openshift-ingress, name: extra}
  cel: {expression: "self.status.phase == 'Running'"}
- condition: {type: Available}
`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	tm := newTerminal(t, fixtureNamed(t, "done"))
	w := tm.begin("assert", fixturePackage, "-f", path)
	pod := func(phase string) map[string]any {
		return map[string]any{"metadata": metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "extra"}, "status": map[string]any{"phase": phase}}
	}
	tm.server.put(podsPath, pod("Pending"))
	select {
	case code := <-w.done:
		t.Fatalf("it ends with %d before the pod runs", code)
	case <-time.After(300 * time.Millisecond):
	}
	tm.server.put(podsPath, pod("Running"))
	w.sees("✔ one pod waits  holds")
	w.sees("✔ condition Available  holds")
	w.ends(CodeOK)
	tm.in = strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(file, "Running", "Failed"), "1m", "0s"))
	tm.begin("assert", fixturePackage, "-f", "-").ends(CodeFalse)
	tm.in = strings.NewReader(strings.ReplaceAll(file, "self.status.phase ==", "self.status.phase =="+"="))
	r := tm.run("assert", fixturePackage, "-f", "-")
	r.wants(t, CodeUsage, "", "asserts[0].cel.expression")
}
