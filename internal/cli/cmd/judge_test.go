// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

// TestJudge has a rollout that is done, and what makes that not so yet.
func TestJudge(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(f *fixture)
		want   view.Verdict
	}{
		"Done":           {reason: "Nothing is open.", change: func(*fixture) {}, want: view.VerdictRolledOut},
		"SpecChanged":    {reason: "The controller has not seen the newest spec.", change: func(f *fixture) { f.view.Package.Generation++ }, want: view.VerdictInProgress},
		"RevisionBehind": {reason: "The status is about an older spec of the revision.", change: func(f *fixture) { f.view.Revisions[2].Generation++ }, want: view.VerdictInProgress},
		"NewRevision":    {reason: "A newer revision is there that the package's status does not know.", change: func(f *fixture) { f.revision(4, "1.31.1", 0) }, want: view.VerdictInProgress},
		"RolledOutNext":  {reason: "Nor does its success count before the package's status tells of it.", change: func(f *fixture) { f.succeed(f.revision(4, "1.31.1", 0), 0, created) }, want: view.VerdictInProgress},
		"RollbackAsked":  {reason: "A rollback is to come.", change: func(f *fixture) { f.view.Package.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)} }, want: view.VerdictInProgress},
		"RollbackRefused": {reason: "A rollback that was refused leaves what runs.", change: func(f *fixture) {
			f.view.Package.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)}
			f.view.Package.Status.Rollback = &v1alpha1.RollbackStatus{RequestedAt: ago(0), Message: "no"}
		}, want: view.VerdictRolledOut},
		"PackageBehind": {reason: "The package's condition is of an earlier rollout.", change: func(f *fixture) {
			set(&f.view.Package.Status.Conditions, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonRollingOut, "")
		}, want: view.VerdictInProgress},
		"NeverSucceeded": {reason: "RolledOut without the latched success is not done.", change: func(f *fixture) {
			set(&f.view.Revisions[2].Status.Conditions, v1alpha1.ConditionSucceeded, "False", "Other", "")
		}, want: view.VerdictInProgress},
		"Repairing": {reason: "An API error is tried again.", change: func(f *fixture) {
			set(&f.view.Revisions[2].Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonRolloutError, "")
		}, want: view.VerdictInProgress},
		"Invalid": {reason: "Content that cannot be rolled out does not heal.", change: func(f *fixture) {
			set(&f.view.Revisions[2].Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonInvalidSpec, "")
		}, want: view.VerdictFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := fixtureNamed(t, "done")
			tc.change(f)
			if s := f.view.Status(); s.Verdict != tc.want {
				t.Errorf("%s Got %s (%s), want %s", tc.reason, s.Verdict, s.Message, tc.want)
			}
		})
	}
}

// The package tells of a rollout before its revision does.
func TestBuildStatus_BelievesThePackageFirst(t *testing.T) {
	f := fixtureNamed(t, "done")
	f.revision(4, "1.31.1", 0).Status = v1alpha1.RevisionStatus{}
	f.view.Package.Status.TargetRevision = 4
	set(&f.view.Package.Status.Conditions, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonRollingOut, "revision 4: phase 1/2 waits for istiod")
	s := f.view.Status()
	if want := "RollingOut: revision 4: phase 1/2 waits for istiod"; s.Verdict != view.VerdictInProgress || s.Message != want {
		t.Errorf("got %s (%s), want %s (%s)", s.Verdict, s.Message, view.VerdictInProgress, want)
	}
}

func TestBuildStatus_SaysWhyARollbackWasRefused(t *testing.T) {
	f := fixtureNamed(t, "done")
	f.view.Package.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)}
	f.view.Package.Status.Rollback = &v1alpha1.RollbackStatus{RequestedAt: ago(0), Message: "revision 9 does not exist"}
	if got := f.view.Status().RollbackRefused; got != "revision 9 does not exist" {
		t.Errorf("got %q", got)
	}
}

func TestOutcomes(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	superseded := f.revision(5, "1.31.1", 0)
	archive(superseded, 0)
	paused := f.revision(6, "1.31.2", 0)
	paused.Spec.LifecycleState = v1alpha1.LifecyclePaused
	f.revision(7, "1.31.3", 0)
	var got []string
	for _, r := range f.view.History().Revisions {
		got = append(got, r.Outcome)
	}
	want := []string{"Succeeded", "Succeeded", "RolledBack", "Succeeded", "Superseded", "Paused", "Pending"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRepeatedBy(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	back := &f.view.Revisions[3]
	for reference, want := range map[string]int64{
		"Revision/istiod-openshift-gateway-2": 2,
		"Revision/istiod-openshift-gateway-x": 2, // by its content
		"":                                    2,
	} {
		back.Spec.Origin.Reference = reference
		if got := view.RepeatedBy(back, f.view.Revisions); got != want {
			t.Errorf("reference %q: got %d, want %d", reference, got, want)
		}
	}
	back.Spec.Origin.Reference, back.Spec.ContentDigest = "", ""
	if got := view.RepeatedBy(back, f.view.Revisions); got != 0 {
		t.Errorf("neither reference nor content: got %d, want 0", got)
	}
}
