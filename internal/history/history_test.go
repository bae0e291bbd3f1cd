// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
)

// state is all that history looks at of a revision.
type state struct {
	number    int64
	lifecycle v1alpha1.LifecycleState
	succeeded bool
	tornDown  bool
	placed    bool
	deleting  bool
	digest    string
	previous  int64
	origin    *v1alpha1.Origin
	stamp     string
}

func (s state) revision() v1alpha1.Revision {
	r := v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName("istiod", s.number)},
		Spec: v1alpha1.RevisionSpec{
			Package: "istiod", Revision: s.number, LifecycleState: s.lifecycle, Previous: s.previous,
			ContentDigest: s.digest, Origin: s.origin,
			Phases: []v1alpha1.Phase{{Name: "content-" + s.digest}},
			Probes: []v1alpha1.Probe{{Name: "probe-" + s.digest}},
		},
	}
	if s.stamp != "" {
		r.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: s.stamp}
	}
	if s.succeeded {
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolloutSuccess}}
	}
	if s.placed {
		r.Status.Inventory = []v1alpha1.InventoryEntry{{UID: "x"}}
	}
	if s.deleting {
		r.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	if s.tornDown {
		r.Status.ArchivedAt = &metav1.Time{Time: time.Unix(1000+s.number, 0)}
	}
	return r
}

func revisionsOf(states []state) []v1alpha1.Revision {
	var all []v1alpha1.Revision
	for _, s := range states {
		all = append(all, s.revision())
	}
	return all
}

func packageOf(spec v1alpha1.PackageSpec, status v1alpha1.PackageStatus) *v1alpha1.Package {
	return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istiod", UID: "p"}, Spec: spec, Status: status}
}

func numbers(revisions []*v1alpha1.Revision) []int64 {
	var list []int64
	for _, r := range revisions {
		list = append(list, r.Spec.Revision)
	}
	return list
}

func number(revision *v1alpha1.Revision) int64 {
	if revision == nil {
		return 0
	}
	return revision.Spec.Revision
}

const (
	active   = v1alpha1.LifecycleActive
	paused   = v1alpha1.LifecyclePaused
	archived = v1alpha1.LifecycleArchived
)

// shape is a History in numbers.
type shape struct {
	Target, Current, Highest               int64
	Serving, Archiving, Archived, Standing []int64
	Superseded                             []int64
}

// sortCase is a case of [TestSort].
type sortCase struct {
	reason  string
	highest int64
	states  []state
	want    shape
}

// sortCases are the cases of [TestSort].
var sortCases = map[string]sortCase{
	"NoRevision": {
		reason: "a package without revisions has nothing to do and starts at 1",
		want:   shape{},
	},
	"HighWaterMarkOfGoneRevisions": {
		reason:  "numbers of revisions that are gone stay given",
		highest: 7,
		states:  []state{{number: 3, lifecycle: active}},
		want:    shape{Target: 3, Highest: 7, Standing: []int64{3}},
	},
	"HandoverIsUnderWay": {
		reason: "the newest active one is the target, the older ones serve, and the newest success is current; nothing is superseded before the target's success is on record",
		states: []state{
			{number: 2, lifecycle: active, succeeded: true},
			{number: 10, lifecycle: active},
			{number: 9, lifecycle: active},
			{number: 1, lifecycle: archived, tornDown: true, succeeded: true},
		},
		want: shape{
			Target: 10, Current: 2, Highest: 10, Serving: []int64{9, 2}, Archived: []int64{1}, Standing: []int64{10, 9, 2},
		},
	},
	"TargetHasSucceeded": {
		reason: "with the target's success on record every older active revision is superseded, succeeded or not",
		states: []state{
			{number: 1, lifecycle: active, succeeded: true},
			{number: 2, lifecycle: active},
			{number: 3, lifecycle: active, succeeded: true},
		},
		want: shape{
			Target: 3, Current: 3, Highest: 3, Serving: []int64{2, 1}, Standing: []int64{3, 2, 1}, Superseded: []int64{2, 1},
		},
	},
	"PausedRevisionIsTheTarget": {
		reason: "a paused revision is still the one that is wanted",
		states: []state{{number: 1, lifecycle: active, succeeded: true}, {number: 2, lifecycle: paused}},
		want:   shape{Target: 2, Current: 1, Highest: 2, Serving: []int64{1}, Standing: []int64{2, 1}},
	},
	"LifecycleNotYetDefaulted": {
		reason: "a revision without a lifecycle state is active, as the API's default says",
		states: []state{{number: 1}},
		want:   shape{Target: 1, Highest: 1, Standing: []int64{1}},
	},
	"ArchivedAndNotTornDown": {
		reason: "an archived revision's objects still stand until the teardown is on record",
		states: []state{
			{number: 3, lifecycle: active, succeeded: true},
			{number: 2, lifecycle: archived, succeeded: true},
			{number: 1, lifecycle: archived},
		},
		want: shape{Target: 3, Current: 3, Highest: 3, Archiving: []int64{2, 1}, Standing: []int64{3, 2, 1}},
	},
	"MarkWithoutArchivedState": {
		reason: "an active revision is active, whatever its status claims of a teardown",
		states: []state{{number: 1, lifecycle: active, tornDown: true}},
		want:   shape{Target: 1, Highest: 1},
	},
	"ArchivedLastGood": {
		reason: "when no active revision has succeeded, the newest success is current although it is archived",
		states: []state{
			{number: 1, lifecycle: archived, tornDown: true, succeeded: true},
			{number: 2, lifecycle: archived, tornDown: true, succeeded: true},
			{number: 3, lifecycle: archived, tornDown: true},
			{number: 4, lifecycle: active},
		},
		want: shape{Target: 4, Current: 2, Highest: 4, Archived: []int64{3, 2, 1}, Standing: []int64{4}},
	},
	"ActiveSuccessBeatsNewerArchivedSuccess": {
		reason: "what runs is what is active: an archived revision is not current while an active one has succeeded",
		states: []state{
			{number: 2, lifecycle: active, succeeded: true},
			{number: 3, lifecycle: archived, tornDown: true, succeeded: true},
		},
		want: shape{Target: 2, Current: 2, Highest: 3, Archived: []int64{3}, Standing: []int64{2}},
	},
	"EverythingIsArchived": {
		reason: "without an active revision there is no target and nothing is superseded",
		states: []state{{number: 1, lifecycle: archived, tornDown: true, succeeded: true}},
		want:   shape{Current: 1, Highest: 1, Archived: []int64{1}},
	},
}

func TestSort(t *testing.T) {
	for name, tc := range sortCases {
		t.Run(name, func(t *testing.T) {
			h := Sort(packageOf(v1alpha1.PackageSpec{}, v1alpha1.PackageStatus{HighestRevision: tc.highest}), revisionsOf(tc.states))
			got := shape{
				Target: number(h.Target), Current: number(h.Current), Highest: h.Highest,
				Serving: numbers(h.Serving), Archiving: numbers(h.Archiving), Archived: numbers(h.Archived),
				Standing: numbers(h.Standing()), Superseded: numbers(h.Superseded()),
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: history (-want +got):\n%s", tc.reason, diff)
			}
			for _, s := range tc.states {
				if found := h.Find(s.number); number(found) != s.number {
					t.Errorf("%s: Find(%d) = revision %d", tc.reason, s.number, number(found))
				}
			}
			if found := h.Find(99); found != nil {
				t.Errorf("%s: Find(99) = revision %d, want none", tc.reason, number(found))
			}
		})
	}
}

func TestLine_Prune(t *testing.T) {
	history := func(from, to int64, succeeded ...int64) []state {
		var states []state
		for n := from; n <= to; n++ {
			s := state{number: n, lifecycle: archived, tornDown: true}
			for _, good := range succeeded {
				s.succeeded = s.succeeded || good == n
			}
			states = append(states, s)
		}
		return states
	}
	target := func(n int64, succeeded bool) state {
		return state{number: n, lifecycle: active, succeeded: succeeded}
	}
	tests := map[string]struct {
		reason  string
		limit   *int32
		highest int64
		states  []state
		want    []int64
	}{
		"DefaultLimit": {
			reason:  "an unset limit keeps 5, and what goes is the oldest, oldest first",
			highest: 8,
			states:  append(history(1, 7, 1, 2, 3, 4, 5, 6, 7), target(8, true)),
			want:    []int64{1, 2},
		},
		"WithinLimit": {
			reason:  "nothing goes while the limit holds",
			limit:   ptr.To[int32](3),
			highest: 4,
			states:  append(history(1, 3), target(4, true)),
		},
		"LimitZero": {
			reason:  "a limit of 0 keeps no archived revision",
			limit:   ptr.To[int32](0),
			highest: 4,
			states:  append(history(1, 3, 1, 2), target(4, true)),
			want:    []int64{1, 2, 3},
		},
		"LimitZeroKeepsTheLastGood": {
			reason:  "while the target has not succeeded, the newest success is kept beyond the limit: a rollback needs it",
			limit:   ptr.To[int32](0),
			highest: 4,
			states:  append(history(1, 3, 1, 2), target(4, false)),
			want:    []int64{1, 3},
		},
		"LastGoodDoesNotCount": {
			reason:  "the last good revision is kept besides the limit, it does not use it up",
			limit:   ptr.To[int32](1),
			highest: 5,
			states:  append(history(1, 4, 3), target(5, false)),
			want:    []int64{1, 2},
		},
		"NewerSuccessWasArchivedByHand": {
			reason:  "current is an older active revision, and the newest that has succeeded is kept all the same",
			limit:   ptr.To[int32](0),
			highest: 4,
			states:  append(history(3, 4, 3), target(2, true)),
			want:    []int64{4},
		},
		"LimitHundred": {
			reason:  "the largest limit that the API takes",
			limit:   ptr.To[int32](100),
			highest: 103,
			states:  append(history(1, 102), target(103, true)),
			want:    []int64{1, 2},
		},
		"NumberNotOnRecord": {
			reason:  "a revision whose number no status covers yet is kept, or its number could be given again",
			limit:   ptr.To[int32](0),
			highest: 2,
			states:  history(1, 3),
			want:    []int64{1, 2},
		},
		"NotTornDown": {
			reason:  "what still has objects on the cluster is not pruned",
			limit:   ptr.To[int32](0),
			highest: 2,
			states:  []state{{number: 1, lifecycle: archived}, target(2, true)},
		},
		"ServingIsNotHistory": {
			reason:  "active revisions are never pruned",
			limit:   ptr.To[int32](0),
			highest: 3,
			states:  []state{target(1, true), target(2, false), target(3, false)},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{RevisionHistoryLimit: tc.limit}, v1alpha1.PackageStatus{HighestRevision: tc.highest})
			got := numbers(Sort(pkg, revisionsOf(tc.states)).Prune(pkg))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: pruned (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
