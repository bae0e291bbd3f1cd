// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

func at(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0).UTC()) }

// needCase is a case of [TestLine_NeedFor].
type needCase struct {
	reason  string
	states  []state
	request *v1alpha1.Rollback
	handled *v1alpha1.RollbackStatus
	// automatic is the record of the last automatic rollback.
	automatic *v1alpha1.RollbackStatus
	digest    string
	want      Need
}

var needGood = state{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good"}

var needBad = state{number: 2, lifecycle: archived, tornDown: true, digest: "bad"}

var needBack = state{number: 3, lifecycle: active, succeeded: true, digest: "good"}

var needHandled = &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"}

// needCases are the cases of [TestLine_NeedFor].
var needCases = map[string]needCase{
	"FirstRevision": {
		reason: "a line without revisions needs one",
		digest: "good",
		want:   NeedRevision,
	},
	"EqualContent": {
		reason: "equal content makes no new revision",
		states: []state{{number: 1, lifecycle: active, digest: "good"}},
		digest: "good",
		want:   NeedNone,
	},
	"NewContent": {
		reason: "content that the target does not have needs a revision",
		states: []state{{number: 1, lifecycle: active, digest: "good"}},
		digest: "new",
		want:   NeedRevision,
	},
	"ContentOfAServingRevision": {
		reason: "content that an older active revision has is new again: the target decides, not what still serves",
		states: []state{{number: 1, lifecycle: active, succeeded: true, digest: "good"}, {number: 2, lifecycle: active, digest: "new"}},
		digest: "good",
		want:   NeedRevision,
	},
	"ContentOfAnArchivedRevision": {
		reason: "archived is final: going back to that content takes a new revision",
		states: []state{needGood, {number: 2, lifecycle: active, digest: "new"}},
		digest: "good",
		want:   NeedRevision,
	},
	"TargetWithoutDigest": {
		reason: "a revision made by hand without a digest is not known to have any content",
		states: []state{{number: 1, lifecycle: active}},
		digest: "good",
		want:   NeedRevision,
	},
	"Rejected": {
		reason:  "content that a rollback has rejected does not come again",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		handled: needHandled,
		digest:  "bad",
		want:    NeedRejected,
	},
	"RejectedAndRequestTakenAway": {
		reason:  "the rejection outlives the request",
		states:  []state{needGood, needBad, needBack},
		handled: needHandled,
		digest:  "bad",
		want:    NeedRejected,
	},
	"OtherContentAfterRollback": {
		reason:  "only the rejected content is kept out",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		handled: needHandled,
		digest:  "fixed",
		want:    NeedRevision,
	},
	"RolledBackContentIsWanted": {
		reason:  "the content that the rollback brought back is there",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		handled: needHandled,
		digest:  "good",
		want:    NeedNone,
	},
	"RejectionLapsesWithANewerRevision": {
		reason:  "after a newer revision than the rollback's the content has changed, so it may be tried again",
		states:  []state{needGood, needBad, needBack, {number: 4, lifecycle: active, digest: "fixed"}},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		handled: needHandled,
		digest:  "bad",
		want:    NeedRevision,
	},
	"Pinned": {
		reason:  "a pinned rollback keeps out every content",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100), Pin: true},
		handled: needHandled,
		digest:  "fixed",
		want:    NeedPinned,
	},
	"PinnedOnTheSameContent": {
		reason:  "a pin has nothing to keep out when the content is there",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100), Pin: true},
		handled: needHandled,
		digest:  "good",
		want:    NeedNone,
	},
	"PinLifted": {
		reason:  "without the pin other content comes through",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		handled: needHandled,
		digest:  "fixed",
		want:    NeedRevision,
	},
	"RequestNotHandledYet": {
		reason:  "a rollback that was asked for comes first",
		states:  []state{needGood, {number: 2, lifecycle: active, digest: "bad"}},
		request: &v1alpha1.Rollback{RequestedAt: at(100)},
		digest:  "fixed",
		want:    NeedPinned,
	},
	"NewRequestNotHandledYet": {
		reason:  "another request than the one on record comes first, too",
		states:  []state{needGood, needBad, needBack},
		request: &v1alpha1.Rollback{RequestedAt: at(200)},
		handled: needHandled,
		digest:  "fixed",
		want:    NeedPinned,
	},
	"RejectedAutomatically": {
		reason:    "content that missed its deadline does not come again by itself",
		states:    []state{needGood, needBad, needBack},
		automatic: needHandled,
		digest:    "bad",
		want:      NeedRejected,
	},
	"RejectedAndNotKnownYet": {
		reason: "a cache may know the revision that a rollback has made before it knows the package's record of it",
		states: []state{needGood, needBad, {number: 3, lifecycle: active, previous: 2, digest: "good", origin: &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-1"}}},
		digest: "bad",
		want:   NeedRejected,
	},
	"TargetIsBeingDeleted": {
		reason: "what is being deleted stays only until another revision has taken over",
		states: []state{{number: 1, lifecycle: active, succeeded: true, digest: "good", deleting: true}},
		digest: "good",
		want:   NeedRevision,
	},
	"RefusedRequest": {
		reason:  "a request that was refused rejects nothing",
		states:  []state{{number: 1, lifecycle: active, digest: ""}},
		request: &v1alpha1.Rollback{RequestedAt: at(100), ToRevision: 7},
		handled: &v1alpha1.RollbackStatus{RequestedAt: at(100), ToRevision: 7, FromRevision: 1, Message: "revision 7 does not exist"},
		digest:  "fixed",
		want:    NeedRevision,
	},
}

func TestLine_NeedFor(t *testing.T) {
	for name, tc := range needCases {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{Rollback: tc.request}, v1alpha1.PackageStatus{Rollback: tc.handled, AutomaticRollback: tc.automatic})
			if got := Sort(pkg, revisionsOf(tc.states)).NeedFor(pkg, tc.digest); got != tc.want {
				t.Errorf("%s: NeedFor(%q) = %s, want %s", tc.reason, tc.digest, got, tc.want)
			}
		})
	}
}

func TestLine_Next(t *testing.T) {
	tests := map[string]struct {
		reason       string
		highest      int64
		states       []state
		wantNumber   int64
		wantPrevious int64
	}{
		"First": {
			reason:     "numbers start at 1",
			wantNumber: 1,
		},
		"AfterTheTarget": {
			reason:     "the next number follows the highest, and names the target before it",
			states:     []state{{number: 3, lifecycle: archived, tornDown: true}, {number: 4, lifecycle: active}},
			wantNumber: 5, wantPrevious: 4,
		},
		"NewerOnesAreArchived": {
			reason:     "the number of a newer, archived revision is not given again",
			states:     []state{{number: 4, lifecycle: active}, {number: 9, lifecycle: archived, tornDown: true}},
			wantNumber: 10, wantPrevious: 4,
		},
		"NewerOnesAreGone": {
			reason:     "the number of a revision that is gone is not given again",
			highest:    12,
			states:     []state{{number: 4, lifecycle: active}},
			wantNumber: 13, wantPrevious: 4,
		},
		"AllAreGone": {
			reason:     "not even when none is left",
			highest:    12,
			wantNumber: 13,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{}, v1alpha1.PackageStatus{HighestRevision: tc.highest})
			content := Content{
				Phases: []v1alpha1.Phase{{Name: "crds"}}, Probes: []v1alpha1.Probe{{Name: "ready"}}, Digest: "sha256:x",
				Origin: v1alpha1.Origin{Kind: v1alpha1.OriginFront, Reference: "GatewayClass/a"},
			}
			got := Sort(pkg, revisionsOf(tc.states)).Next(pkg, content)
			want := &v1alpha1.Revision{
				ObjectMeta: metav1.ObjectMeta{
					Name:       v1alpha1.RevisionName("istiod", tc.wantNumber),
					Labels:     map[string]string{v1alpha1.LabelPackage: "istiod"},
					Finalizers: []string{v1alpha1.FinalizerTeardown},
					OwnerReferences: []metav1.OwnerReference{{
						APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "istiod", UID: "p",
						Controller: new(true),
					}},
				},
				Spec: v1alpha1.RevisionSpec{
					Package: "istiod", Revision: tc.wantNumber, LifecycleState: active, Previous: tc.wantPrevious,
					Phases: content.Phases, Probes: content.Probes, ContentDigest: "sha256:x", Origin: &content.Origin,
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: next revision (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIsHandled(t *testing.T) {
	tests := map[string]struct {
		reason  string
		request *v1alpha1.Rollback
		handled *v1alpha1.RollbackStatus
		want    bool
	}{
		"NoRequest":      {reason: "nothing is asked for", want: true},
		"NeverHandled":   {reason: "the first request", request: &v1alpha1.Rollback{RequestedAt: at(1)}},
		"OnRecord":       {reason: "a request is handled once", request: &v1alpha1.Rollback{RequestedAt: at(1), ToRevision: 2}, handled: &v1alpha1.RollbackStatus{RequestedAt: at(1), ToRevision: 2}, want: true},
		"DefaultTarget":  {reason: "a request without a number is on record with the one that was chosen", request: &v1alpha1.Rollback{RequestedAt: at(1)}, handled: &v1alpha1.RollbackStatus{RequestedAt: at(1), ToRevision: 2}, want: true},
		"OtherTime":      {reason: "another time is another request, even to the same revision", request: &v1alpha1.Rollback{RequestedAt: at(2), ToRevision: 2}, handled: &v1alpha1.RollbackStatus{RequestedAt: at(1), ToRevision: 2}},
		"OtherNumber":    {reason: "another number is another request, even with the same time", request: &v1alpha1.Rollback{RequestedAt: at(1), ToRevision: 3}, handled: &v1alpha1.RollbackStatus{RequestedAt: at(1), ToRevision: 2}},
		"OtherTimeZone":  {reason: "the same instant in another zone is the same request", request: &v1alpha1.Rollback{RequestedAt: metav1.NewTime(at(1).In(time.FixedZone("x", 3600)))}, handled: &v1alpha1.RollbackStatus{RequestedAt: at(1)}, want: true},
		"RequestRemoved": {reason: "the record stays when the request goes", handled: &v1alpha1.RollbackStatus{RequestedAt: at(1)}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{Rollback: tc.request}, v1alpha1.PackageStatus{Rollback: tc.handled})
			if got := IsHandled(pkg); got != tc.want {
				t.Errorf("%s: IsHandled = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
