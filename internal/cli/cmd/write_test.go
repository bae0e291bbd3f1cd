// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

var waitingDigest = "sha256:" + strings.Repeat("ab", 32)

// fixtureWaiting has a revision that waits for approval and a gate, and one that
// runs.
func fixtureWaiting(f *fixture) {
	f.done()
	f.view.Package.Spec.Approval = v1alpha1.ApprovalManual
	f.view.Package.Spec.Gates = []v1alpha1.Gate{{Name: "policy-check", Reason: "the scan has not ended"}, {Name: "other", ApprovedDigest: waitingDigest}}
	r := f.revision(4, "1.31.1", 10*time.Second)
	r.Spec.LifecycleState, r.Spec.ContentDigest = v1alpha1.LifecyclePaused, waitingDigest
	r.Annotations = map[string]string{v1alpha1.AnnotationAwaitingApproval: ""}
	r.Status.Plan = &v1alpha1.Plan{Digest: waitingDigest, Summary: "1 update, 17 unchanged", Objects: []v1alpha1.PlannedObject{
		{ObjectReference: istiod, Phase: "control-plane", Action: v1alpha1.PlanUpdate, Reason: "its content is new"},
	}}
	f.progressing(r, "False", v1alpha1.ReasonAwaitingApproval, "its content is not approved: strata approve istiod-openshift-gateway --revision 4; it would do: 1 update, 17 unchanged")
	r.Status.LastProgressTime = nil
}

func (tm *terminal) revisionNumbered(n int64) *v1alpha1.Revision {
	tm.t.Helper()
	r := &v1alpha1.Revision{}
	tm.server.read(revisionsPath, v1alpha1.RevisionName(fixturePackage, n), r)
	return r
}

func TestApprove(t *testing.T) {
	cases := map[string]struct {
		reason   string
		fixture  func(*fixture)
		args     []string
		code     Code
		out, err string
		// approved and gate are spec.approvedDigest and that of policy-check after it.
		approved, gate string
	}{
		"Newest":     {reason: "Without a choice it is what waits.", args: []string{"--yes"}, out: "revision 4 (1.31.1), content abababababab of package istiod-openshift-gateway is approved", err: "it still waits: gate policy-check", approved: waitingDigest},
		"ByRevision": {reason: "A revision stands for its content.", args: []string{"--yes", "--revision", "4"}, out: "is approved", approved: waitingDigest},
		"ByPrefix":   {reason: "A part of the digest is enough.", args: []string{"--yes", "--digest", "abab"}, out: "is approved", approved: waitingDigest},
		"Gate":       {reason: "One gate is opened, the others stay.", args: []string{"--yes", "--gate", "policy-check"}, out: "is approved (policy-check)", err: "is not approved", gate: waitingDigest},
		"Beforehand": {reason: "Content can be approved before it comes.", args: []string{"--yes", "--digest", "sha256:" + strings.Repeat("cd", 32)}, out: "content cdcdcdcdcdcd", approved: "sha256:" + strings.Repeat("cd", 32)},
		"NoTerminal": {reason: "A script must say --yes.", code: CodeUsage, err: "give --yes"},
		"DryRun":     {reason: "The plan is shown, nothing written.", args: []string{"--dry-run=server"}, out: "update  Deployment openshift-ingress/istiod-openshift-gateway", err: ""},
		"NoSuchGate": {reason: "Gates are named.", args: []string{"--yes", "--gate", "x"}, code: CodeNotFound, err: "has no gate x; there are: policy-check, other"},
		"NoDigest":   {reason: "A part that fits nothing.", args: []string{"--yes", "--digest", "0123"}, code: CodeNotFound, err: "64 digits"},
		"NothingWaits": {reason: "There is nothing to approve.", fixture: func(f *fixture) {
			f.done()
			f.view.Package.Spec.Approval = v1alpha1.ApprovalManual
		}, args: []string{"--yes"}, code: CodeNotFound, err: "no revision of package istiod-openshift-gateway waits"},
		"Automatic": {reason: "Without --gate nothing waits for it.", fixture: func(f *fixture) {
			fixtureWaiting(f)
			f.view.Package.Spec.Approval = v1alpha1.ApprovalAutomatic
		}, args: []string{"--yes"}, code: CodeUsage, err: "which --gate opens: policy-check, other"},
		"Already": {reason: "Saying it twice is no error.", fixture: func(f *fixture) {
			fixtureWaiting(f)
			f.view.Package.Spec.ApprovedDigest = waitingDigest
		}, out: "was approved already", approved: waitingDigest},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.fixture == nil {
				tc.fixture = fixtureWaiting
			}
			f := newFixture(t)
			tc.fixture(f)
			tm := newTerminal(t, f)
			r := tm.run(append([]string{"approve", fixturePackage}, tc.args...)...)
			// Lines are wrapped.
			r.out = strings.ReplaceAll(r.out, "\n", " ")
			r.wants(t, tc.code, tc.out, tc.err)
			spec := tm.pkg().Spec
			gate := ""
			if len(spec.Gates) > 0 {
				gate = spec.Gates[0].ApprovedDigest
			}
			if spec.ApprovedDigest != tc.approved || gate != tc.gate {
				t.Errorf("%s approved %q, gate %q; want %q, %q", tc.reason, spec.ApprovedDigest, gate, tc.approved, tc.gate)
			}
		})
	}
}

func TestPause(t *testing.T) {
	until := metav1.NewTime(fixtureNow.Add(2 * time.Hour).Local())
	cases := map[string]struct {
		reason   string
		fixture  string
		args     []string
		terminal string
		code     Code
		out, err string
		want     *v1alpha1.Pause
	}{
		"Reason":      {reason: "Who, why and until when.", fixture: "done", args: []string{"--reason", "freeze", "--by", "bob", "--until", "2h"}, out: "paused by bob: freeze, until 2026-11-21T14:00:00Z", want: &v1alpha1.Pause{By: "bob", Reason: "freeze", Until: &until}},
		"NoReason":    {reason: "A script must say why.", fixture: "done", code: CodeUsage, err: "--reason is required"},
		"Asked":       {reason: "A person is asked.", fixture: "done", args: []string{"--by", "bob"}, terminal: "freeze\n", out: "paused by bob: freeze", err: "Reason: ", want: &v1alpha1.Pause{By: "bob", Reason: "freeze"}},
		"Past":        {reason: "A pause that is over is none.", fixture: "done", args: []string{"--reason", "x", "--until", "2020-01-01T00:00:00Z"}, code: CodeUsage, err: "is over already"},
		"WrongTime":   {reason: "The forms are named.", fixture: "done", args: []string{"--reason", "x", "--until", "soon"}, code: CodeUsage, err: "neither a duration such as 2h"},
		"Again":       {reason: "Another user's pause is not replaced unasked.", fixture: "paused", args: []string{"--reason", "x"}, code: CodeUsage, err: "paused by alice: change freeze", want: &v1alpha1.Pause{By: "alice", Reason: "change freeze"}},
		"AgainYes":    {reason: "Unless --yes says so.", fixture: "paused", args: []string{"--reason", "x", "--by", "bob", "--yes"}, out: "paused by bob: x", want: &v1alpha1.Pause{By: "bob", Reason: "x"}},
		"DryRun":      {reason: "Nothing is written.", fixture: "done", args: []string{"--reason", "x", "--dry-run=server"}, out: "--dry-run=server: nothing was changed"},
		"NotFound":    {reason: "6 is that there is none.", args: []string{"--reason", "x"}, code: CodeNotFound, err: "not in the cluster"},
		"WrongDryRun": {reason: "Like kubectl's.", fixture: "done", args: []string{"--reason", "x", "--dry-run=yes"}, code: CodeUsage, err: "none, client or server"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			if tc.fixture != "" {
				f = fixtureNamed(t, tc.fixture)
			}
			tm := newTerminal(t, f)
			if tc.terminal != "" {
				tm.in, tm.isTerminal = strings.NewReader(tc.terminal), true
			}
			r := tm.run(append([]string{"pause", fixturePackage}, tc.args...)...)
			r.out = strings.ReplaceAll(r.out, "\n", " ")
			r.wants(t, tc.code, tc.out, tc.err)
			if f == nil {
				return
			}
			if diff := cmp.Diff(tc.want, tm.pkg().Spec.Paused); diff != "" {
				t.Errorf("%s spec.paused: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestResume(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "paused"))
	tm.run("resume", fixturePackage, "--dry-run=client").wants(t, CodeOK, "It was paused by alice", "")
	if tm.pkg().Spec.Paused == nil {
		t.Fatal("a dry run has written")
	}
	var receipt view.Receipt
	parse(t, tm.run("resume", fixturePackage, "-o", "json"), &receipt)
	if !receipt.Changed || receipt.Paused == nil || receipt.Paused.By != "alice" {
		t.Errorf("got %+v", receipt)
	}
	if tm.pkg().Spec.Paused != nil {
		t.Error("it is paused still")
	}
	tm.run("resume", fixturePackage).wants(t, CodeOK, "is not paused", "")
	tm.run("resume", fixturePackage, "-o", "jsonpath={.changed}").wants(t, CodeOK, "false\n", "")
}

// TestPause_Revision pauses one revision and lets it go on.
func TestPause_Revision(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolling_out"))
	state := func() string {
		r := tm.revisionNumbered(3)
		return string(r.Spec.LifecycleState) + " " + r.Annotations[v1alpha1.AnnotationPauseReason] + view.Prefixed(" by ", r.Annotations[v1alpha1.AnnotationPausedBy])
	}
	steps := []struct {
		reason   string
		args     []string
		code     Code
		out, err string
		want     string
	}{
		{reason: "A script must say why.", args: []string{"pause", fixturePackage, "--revision", "3"}, code: CodeUsage, err: "--reason is required", want: "Active "},
		{reason: "It ends when a user ends it.", args: []string{"pause", fixturePackage, "--revision", "3", "--reason", "x", "--until", "2h"}, code: CodeUsage, err: "--until is for a package", want: "Active "},
		{reason: "Nothing is written.", args: []string{"pause", fixturePackage, "--revision", "3", "--reason", "x", "--dry-run=server"}, out: "nothing was changed", want: "Active "},
		{reason: "Who and why is kept.", args: []string{"pause", fixturePackage, "--revision", "3", "--reason", "freeze", "--by", "bob"}, out: "Revision 3 of package " + fixturePackage + " is paused by bob: freeze", want: "Paused freeze by bob"},
		{reason: "Saying it twice is no error.", args: []string{"pause", fixturePackage, "--revision", "3", "--reason", "again"}, out: "already", want: "Paused freeze by bob"},
		{reason: "Why it stands still is reported, and what helps.", args: []string{"explain", fixturePackage}, out: "revision 3 is paused by bob: freeze   next try  when it is resumed   next      strata resume " + fixturePackage + " --revision 3", want: "Paused freeze by bob"},
		{reason: "What is history is not paused.", args: []string{"pause", fixturePackage, "--revision", "1", "--reason", "x"}, code: CodeTerminal, err: "revision 1 is archived", want: "Paused freeze by bob"},
		{reason: "The revisions that exist are named.", args: []string{"resume", fixturePackage, "--revision", "9"}, code: CodeNotFound, err: "there are: 1, 2, 3", want: "Paused freeze by bob"},
		{reason: "It goes on.", args: []string{"resume", fixturePackage, "--revision", "3"}, out: "is resumed. It was paused by bob: freeze", want: "Active "},
		{reason: "It is not paused any more.", args: []string{"resume", fixturePackage, "--revision", "3", "-o", "jsonpath={.changed}"}, out: "false\n", want: "Active "},
	}
	for _, step := range steps {
		r := tm.run(step.args...)
		if !strings.HasSuffix(step.out, "\n") {
			r.out = strings.ReplaceAll(r.out, "\n", " ")
		}
		r.wants(t, step.code, step.out, step.err)
		if got := state(); got != step.want {
			t.Errorf("%v: %s\nthe revision is %q, want %q", step.args, step.reason, got, step.want)
		}
	}
}

func TestArchive(t *testing.T) {
	cases := map[string]struct {
		reason   string
		fixture  string
		args     []string
		code     Code
		out, err string
		archived bool
	}{
		"Rollout":    {reason: "A rollout is archived, and what it has changed goes back.", fixture: "bad_image", args: []string{"3", "--yes"}, out: "~ update  Deployment openshift-ingress/istiod-openshift-gateway", archived: true},
		"Current":    {reason: "What runs is not archived.", fixture: "done", args: []string{"3", "--yes"}, code: CodeTerminal, err: "revision 3 is what runs"},
		"Already":    {reason: "Saying it twice is no error.", fixture: "done", args: []string{"2"}, out: "is archived already"},
		"Missing":    {reason: "The revisions that exist are named.", fixture: "done", args: []string{"9"}, code: CodeNotFound, err: "there are: 1, 2, 3"},
		"NoNumber":   {reason: "A revision is a number.", fixture: "done", args: []string{"latest"}, code: CodeUsage, err: "is not a revision"},
		"ByName":     {reason: "Or its name.", fixture: "bad_image", args: []string{fixturePackage + "-3", "--yes"}, out: "is archived", archived: true},
		"NotAsked":   {reason: "A script must say --yes.", fixture: "bad_image", args: []string{"3"}, code: CodeUsage, err: "give --yes"},
		"DryRun":     {reason: "Nothing is written.", fixture: "bad_image", args: []string{"3", "--dry-run=client"}, out: "nothing was changed"},
		"NoRevision": {reason: "Both are required.", fixture: "done", code: CodeUsage, err: "strata history PACKAGE"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTerminal(t, fixtureNamed(t, tc.fixture))
			tm.run(append([]string{"archive", fixturePackage}, tc.args...)...).wants(t, tc.code, tc.out, tc.err)
			if got := tm.revisionNumbered(3).Spec.LifecycleState == v1alpha1.LifecycleArchived; got != tc.archived {
				t.Errorf("%s archived: %t", tc.reason, got)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	gone := func(tm *terminal) bool {
		tm.server.mu.Lock()
		defer tm.server.mu.Unlock()
		return tm.server.objects[packagesPath+"/"+fixturePackage] == nil
	}
	cases := map[string]struct {
		reason   string
		args     []string
		answer   string
		code     Code
		out, err string
		gone     bool
	}{
		"Yes":       {reason: "A script says --yes.", args: []string{"--yes"}, out: "is being deleted", gone: true},
		"Wait":      {reason: "Its end is waited for.", args: []string{"--yes", "--wait"}, out: "is gone", gone: true},
		"DryRun":    {reason: "What goes is listed, the last phase first.", args: []string{"--dry-run=client"}, out: "Deleted (18 objects):\n  phase webhooks\n    - MutatingWebhookConfiguration"},
		"Server":    {reason: "A dry run changes nothing.", args: []string{"--dry-run=server"}, out: "Nothing was changed (--dry-run=server)."},
		"Orphan":    {reason: "Everything stays.", args: []string{"--cascade=orphan", "--dry-run=client"}, out: "Stay in place (18 objects):"},
		"NotAsked":  {reason: "There is no terminal to ask at.", code: CodeUsage, err: "give --yes"},
		"No":        {reason: "A person says no.", answer: "n\n", code: CodeInterrupted, out: "front gatewayclass makes the package again", err: "nothing was changed"},
		"Person":    {reason: "A person says yes.", answer: "y\n", out: "is being deleted", gone: true},
		"Cascade":   {reason: "There are three.", args: []string{"--cascade=all"}, code: CodeUsage, err: "orphan, background or foreground"},
		"WaitOnDry": {reason: "There is nothing to wait for.", args: []string{"--dry-run=client", "--wait"}, code: CodeUsage, err: "--wait"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTerminal(t, fixtureNamed(t, "done"))
			if tc.answer != "" {
				tm.in, tm.isTerminal = strings.NewReader(tc.answer), true
			}
			r := tm.run(append([]string{"delete", fixturePackage}, tc.args...)...)
			whole := r.out
			r.wants(t, tc.code, "", tc.err)
			if !strings.Contains(whole, tc.out) && !strings.Contains(strings.ReplaceAll(whole, "\n", " "), tc.out) {
				t.Errorf("stdout has no %q:\n%s", tc.out, whole)
			}
			if gone(tm) != tc.gone {
				t.Errorf("%s gone: %t", tc.reason, gone(tm))
			}
		})
	}
}

// TestDelete_DataLoss has a claim that goes with the package.
func TestDelete_DataLoss(t *testing.T) {
	withClaim := func(t *testing.T) *terminal {
		t.Helper()
		f := fixtureNamed(t, "done")
		r := &f.view.Revisions[2]
		r.Spec.Phases[2].Objects = append(r.Spec.Phases[2].Objects, v1alpha1.Object{
			Object: raw(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"db"}}`), Deletion: v1alpha1.ObjectDelete,
		})
		r.Status.Inventory = append(r.Status.Inventory, v1alpha1.InventoryEntry{
			ObjectReference: v1alpha1.ObjectReference{Version: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "data"}, UID: "uid", Action: "Created",
		})
		return newTerminal(t, f)
	}
	withClaim(t).run("delete", fixturePackage, "--yes").wants(t, CodeUsage, "1 PersistentVolumeClaim, with PersistentVolumeClaim db/data", "--allow-data-loss="+fixturePackage)
	withClaim(t).run("delete", fixturePackage, "--yes", "--allow-data-loss", "web").wants(t, CodeUsage, "", `is "web"`)
	withClaim(t).run("delete", fixturePackage, "--yes", "--allow-data-loss", fixturePackage).wants(t, CodeOK, "is being deleted", "")
	tm := withClaim(t)
	tm.in, tm.isTerminal = strings.NewReader("y\n"), true
	tm.run("delete", fixturePackage).wants(t, CodeInterrupted, "", "Type the package's name")
	tm.in = strings.NewReader(fixturePackage + "\n")
	tm.run("delete", fixturePackage).wants(t, CodeOK, "is being deleted", "")
}
