// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

func TestLine_LeftBehind(t *testing.T) {
	good := state{number: 1, lifecycle: active, succeeded: true}
	tests := map[string]struct {
		reason string
		states []state
		// before is the target when newer ones are not approved, 0 for none.
		before int64
		want   []int64
	}{
		"Burst": {
			reason: "what a burst of changes leaves behind is archived without being rolled out",
			states: []state{good, {number: 2, lifecycle: active}, {number: 3, lifecycle: active}, {number: 4, lifecycle: active}},
			want:   []int64{3, 2},
		},
		"Begun": {
			reason: "what has put something in place hands it over first",
			states: []state{good, {number: 2, lifecycle: active, placed: true}, {number: 3, lifecycle: active}},
		},
		"SucceededWithoutObjects": {
			reason: "what has succeeded serves until the target has",
			states: []state{good, {number: 2, lifecycle: active}},
		},
		"PausedByAPerson": {
			reason: "a paused revision that never began is overtaken like any other",
			states: []state{good, {number: 2, lifecycle: paused}, {number: 3, lifecycle: active}},
			want:   []int64{2},
		},
		"Unapproved": {
			reason: "of those that wait for approval only the newest does so for good; the one that rolls out is not left behind",
			states: []state{good, {number: 2, lifecycle: active}, {number: 3, lifecycle: paused}, {number: 4, lifecycle: paused}},
			before: 2,
			want:   []int64{3},
		},
		"Archived": {
			reason: "history stays history",
			states: []state{{number: 1, lifecycle: archived}, {number: 2, lifecycle: active}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := Sort(packageOf(v1alpha1.PackageSpec{}, v1alpha1.PackageStatus{}), revisionsOf(tc.states))
			if tc.before != 0 {
				h = h.Before(h.Find(tc.before))
			}
			got := numbers(h.LeftBehind(func(r *v1alpha1.Revision) bool { return len(r.Status.Inventory) > 0 }))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: left behind (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLine_Dismissed(t *testing.T) {
	tests := map[string]struct {
		reason string
		states []state
		want   []int64
	}{
		"Middle": {
			reason: "a revision that is not the current one is let go of",
			states: []state{{number: 1, lifecycle: active, succeeded: true}, {number: 2, lifecycle: active, deleting: true}, {number: 3, lifecycle: active}},
			want:   []int64{2},
		},
		"TargetOnItsWay": {
			reason: "deleting what is being rolled out gives it up: the current revision is the target again",
			states: []state{{number: 1, lifecycle: active, succeeded: true}, {number: 2, lifecycle: active, deleting: true}},
			want:   []int64{2},
		},
		"Current": {
			reason: "what runs stays until another revision has taken over",
			states: []state{{number: 1, lifecycle: active, succeeded: true, deleting: true}},
		},
		"CurrentBehindTheTarget": {
			reason: "also while a newer one is on its way",
			states: []state{{number: 1, lifecycle: active, succeeded: true, deleting: true}, {number: 2, lifecycle: active}},
		},
		"FirstThatNeverSucceeded": {
			reason: "a first revision that never succeeded serves no client",
			states: []state{{number: 1, lifecycle: active, deleting: true}},
			want:   []int64{1},
		},
		"Archived": {
			reason: "an archived revision needs no archiving",
			states: []state{{number: 1, lifecycle: archived, deleting: true}, {number: 2, lifecycle: active}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := Sort(packageOf(v1alpha1.PackageSpec{}, v1alpha1.PackageStatus{}), revisionsOf(tc.states))
			if diff := cmp.Diff(tc.want, numbers(h.DeleteRequested())); diff != "" {
				t.Errorf("%s: requested (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// While newer revisions are not approved, the history is that of the one that goes on.
func TestLine_Before(t *testing.T) {
	pkg := packageOf(v1alpha1.PackageSpec{}, v1alpha1.PackageStatus{})
	whole := Sort(pkg, revisionsOf([]state{
		{number: 1, lifecycle: active, succeeded: true}, {number: 2, lifecycle: active}, {number: 3, lifecycle: active}, {number: 4, lifecycle: active},
	}))
	h := whole.Before(whole.Find(2))
	got := [][]int64{{number(h.Target), number(h.Newest()), number(h.Current)}, numbers(h.Waiting), numbers(h.Serving), numbers(h.Standing())}
	if diff := cmp.Diff([][]int64{{2, 4, 1}, {4, 3}, {1}, {4, 3, 2, 1}}, got); diff != "" {
		t.Errorf("target, newest and current; waiting; serving; standing (-want +got):\n%s", diff)
	}
	if next := h.Next(pkg, Content{}); next.Spec.Previous != 4 || next.Spec.Revision != 5 {
		t.Errorf("the next revision is %d after %d, want 5 after 4", next.Spec.Revision, next.Spec.Previous)
	}
	if diff := cmp.Diff([]int64{3, 2, 1}, numbers(whole.Serving)); diff != "" {
		t.Errorf("the history that was given has changed (-want +got):\n%s", diff)
	}
}
