// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"

	"github.com/strata-run/strata/api/v1alpha1"
)

// withheldCase is a case of [TestLine_Unapproved].
type withheldCase struct {
	reason string
	spec   v1alpha1.PackageSpec
	status v1alpha1.PackageStatus
	// states are the line; the last of them is asked about.
	states []state
	want   []string
}

var withheldManual = v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual}

var withheldApproved = v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, ApprovedDigest: "new"}

var withheldGood = state{number: 1, lifecycle: active, succeeded: true, digest: "good"}

var withheldFresh = state{number: 2, lifecycle: active, digest: "new"}

var withheldBack = state{number: 3, lifecycle: active, digest: "good", origin: &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-1"}}

// withheldCases are the cases of [TestLine_Unapproved].
var withheldCases = map[string]withheldCase{
	"Automatic": {
		reason: "without approval and gates everything is rolled out",
		states: []state{withheldGood, withheldFresh},
	},
	"NotApproved": {
		reason: "new content waits, and the remedy can be copied",
		spec:   withheldManual,
		states: []state{withheldGood, withheldFresh},
		want:   []string{"its content new is not approved", "strata approve istiod --revision 2"},
	},
	"Approved": {
		reason: "the approved digest is let through",
		spec:   withheldApproved,
		states: []state{withheldGood, withheldFresh},
	},
	"OtherContentApproved": {
		reason: "an approval is for one content, not for what comes after it",
		spec:   v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, ApprovedDigest: "older"},
		states: []state{withheldGood, withheldFresh},
		want:   []string{"its content new is not approved"},
	},
	"FirstRevision": {
		reason: "the first revision of a package waits like any other",
		spec:   withheldManual,
		states: []state{withheldFresh},
		want:   []string{"not approved"},
	},
	"NoDigest": {
		reason: "content without a digest is not approved by an empty approval",
		spec:   v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, Gates: []v1alpha1.Gate{{Name: "check"}}},
		states: []state{{number: 1, lifecycle: active}},
		want:   []string{"could not be worked out"},
	},
	"Succeeded": {
		reason: "what has succeeded is kept",
		spec:   withheldManual,
		states: []state{withheldGood},
	},
	"Begun": {
		reason: "an approval that is taken back does not stop what has begun",
		spec:   withheldManual,
		states: []state{withheldGood, {number: 2, lifecycle: active, digest: "new", placed: true}},
	},
	"GateClosed": {
		reason: "a gate withholds also what is approved, and says why",
		spec:   v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, ApprovedDigest: "new", Gates: []v1alpha1.Gate{{Name: "istiod", Reason: "drains connections"}}},
		states: []state{withheldGood, withheldFresh},
		want:   []string{"gate istiod has not let its content new through: drains connections"},
	},
	"GatesOpen": {
		reason: "every gate has to name the content",
		spec:   v1alpha1.PackageSpec{Gates: []v1alpha1.Gate{{Name: "a", ApprovedDigest: "new"}, {Name: "b", ApprovedDigest: "new"}}},
		states: []state{withheldGood, withheldFresh},
	},
	"OneGateOfTwoOpen": {
		reason: "every gate has to name the content",
		spec:   v1alpha1.PackageSpec{Gates: []v1alpha1.Gate{{Name: "a", ApprovedDigest: "new"}, {Name: "b", ApprovedDigest: "old"}}},
		states: []state{withheldGood, withheldFresh},
		want:   []string{"gate b"},
	},
	"Rollback": {
		reason: "a rollback to what has succeeded is let through",
		spec:   withheldManual,
		status: v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{Revision: 3}},
		states: []state{withheldGood, withheldFresh, withheldBack},
	},
	"AutomaticRollback": {
		reason: "so is one that the package has made by itself",
		spec:   withheldManual,
		status: v1alpha1.PackageStatus{AutomaticRollback: &v1alpha1.RollbackStatus{Revision: 3}},
		states: []state{withheldGood, withheldFresh, withheldBack},
	},
	"ForgedRollback": {
		reason: "a revision that merely says to be a rollback is not let through",
		spec:   withheldManual,
		states: []state{withheldGood, withheldFresh, withheldBack},
		want:   []string{"its content good is not approved"},
	},
	"RollbackToWhatNeverSucceeded": {
		reason: "a rollback to content that has never succeeded waits",
		spec:   withheldManual,
		status: v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{Revision: 3}},
		states: []state{{number: 1, lifecycle: archived, tornDown: true, digest: "worse"}, withheldFresh, {number: 3, lifecycle: active, digest: "worse"}},
		want:   []string{"its content worse is not approved"},
	},
	"EarlierContentAnew": {
		reason: "content that has succeeded and is made anew by a front waits: no user asked to go back",
		spec:   withheldManual,
		states: []state{withheldGood, withheldFresh, {number: 3, lifecycle: active, digest: "good"}},
		want:   []string{"its content good is not approved"},
	},
}

func TestLine_Unapproved(t *testing.T) {
	for name, tc := range withheldCases {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(tc.spec, tc.status)
			last := tc.states[len(tc.states)-1]
			line := Sort(pkg, revisionsOf(tc.states))
			got := line.Unapproved(pkg, line.Find(last.number), last.digest)
			if (got == "") != (len(tc.want) == 0) {
				t.Errorf("%s: withheld %q, want %v", tc.reason, got, tc.want)
			}
			for _, part := range tc.want {
				if !strings.Contains(got, part) {
					t.Errorf("%s: withheld %q, which lacks %q", tc.reason, got, part)
				}
			}
		})
	}
}

// A revision that is withheld when it is made starts paused, and says so.
func TestLine_NextWhileUnapproved(t *testing.T) {
	pkg := packageOf(v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, ApprovedDigest: "approved"}, v1alpha1.PackageStatus{})
	line := Sort(pkg, nil)
	if next := line.Next(pkg, Content{Digest: "new"}); !IsAwaiting(next) {
		t.Errorf("withheld content starts as %s with annotations %v", next.Spec.LifecycleState, next.Annotations)
	}
	if next := line.Next(pkg, Content{Digest: "approved"}); IsAwaiting(next) || next.Spec.LifecycleState != active {
		t.Errorf("approved content starts as %s with annotations %v", next.Spec.LifecycleState, next.Annotations)
	}
}

// A rollback to what has succeeded starts at once, also when approval is manual; one
// to what has not waits.
func TestLine_RollbackWhileUnapproved(t *testing.T) {
	request := &v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)}
	pkg := packageOf(v1alpha1.PackageSpec{Approval: v1alpha1.ApprovalManual, Rollback: request}, v1alpha1.PackageStatus{})
	for name, succeeded := range map[string]bool{"Succeeded": true, "NeverSucceeded": false} {
		t.Run(name, func(t *testing.T) {
			next, _ := Sort(pkg, revisionsOf([]state{
				{number: 1, lifecycle: archived, tornDown: true, succeeded: succeeded, digest: "old"}, {number: 2, lifecycle: active, digest: "new", placed: true},
			})).Rollback(pkg, SpecDigest)
			if next == nil || IsAwaiting(next) == succeeded {
				t.Errorf("the revision is %+v; want it to wait: %t", next, !succeeded)
			}
		})
	}
}
