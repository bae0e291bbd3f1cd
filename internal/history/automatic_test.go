// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

// failureCase is a case of [TestLine_AnswerFailure].
type failureCase struct {
	reason string
	hold   bool
	last   *v1alpha1.RollbackStatus
	states []state
	// digest is that of the target; "bad" when empty.
	digest string
	// allowed is the version that a person lets through.
	allowed string
	want    *v1alpha1.RollbackStatus
	why     string
}

var failureGood = state{number: 1, lifecycle: active, succeeded: true, digest: "good"}

var failureBad = state{number: 2, lifecycle: active, previous: 1, digest: "bad", placed: true}

var failureOrigin = &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-1"}

var failureBack = state{number: 3, lifecycle: active, previous: 2, digest: "good", origin: failureOrigin, succeeded: true}

var failureOne = int32(1)

var failureOf = func(s state, version string) state {
	s.origin = &v1alpha1.Origin{Kind: v1alpha1.OriginFront, AppVersion: version, RollbackMinors: &failureOne}
	return s
}

var failureLast = &v1alpha1.RollbackStatus{RequestedAt: at(50), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"}

// failureCases are the cases of [TestLine_AnswerFailure].
var failureCases = map[string]failureCase{
	"FirstFailure": {
		reason: "the newest content that has succeeded comes again, and what failed is rejected",
		states: []state{failureGood, failureBad},
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"Hold": {
		reason: "without onFailure: Rollback nothing is made, and nothing more is said",
		hold:   true,
		states: []state{failureGood, failureBad},
	},
	"Succeeded": {
		reason: "what has succeeded once is not rolled back from when a probe fails later",
		states: []state{failureGood, {number: 2, lifecycle: active, digest: "bad", succeeded: true}},
	},
	"NothingHasSucceeded": {
		reason: "there is nothing to go back to",
		states: []state{{number: 1, lifecycle: archived, tornDown: true, digest: "worse"}, failureBad},
		why:    "no revision with other content has succeeded",
	},
	"OnlyTheSameContentHasSucceeded": {
		reason: "the same content would fail in the same way",
		states: []state{{number: 1, lifecycle: active, succeeded: true, digest: "bad"}, failureBad},
		why:    "no revision with other content has succeeded",
	},
	"MadeByHand": {
		reason: "content that does not tell its digest counts as other content",
		states: []state{{number: 1, lifecycle: active, succeeded: true}, {number: 2, lifecycle: active, previous: 1, placed: true}},
		digest: "worked out",
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "worked out"},
	},
	"ArchivedSuccess": {
		reason: "what has succeeded may be history",
		states: []state{{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good"}, failureBad},
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"TheRollbackFails": {
		reason: "a rollback is not rolled back from, or it would swing to and fro",
		last:   failureLast,
		states: []state{{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good"}, {number: 2, lifecycle: active, succeeded: true, digest: "bad"}, {number: 3, lifecycle: active, previous: 2, digest: "good", origin: failureOrigin}},
		digest: "good",
		why:    "a rollback is not rolled back from",
	},
	"SameContentAgain": {
		reason: "content that was rolled back from is held when it comes again at once",
		last:   failureLast,
		states: []state{failureGood, failureBack, {number: 4, lifecycle: active, previous: 3, digest: "bad"}},
		why:    "its content was rolled back from once, by revision 3",
	},
	"SameContentOverAndOver": {
		reason: "and however often",
		last:   failureLast,
		states: []state{failureGood, failureBack, {number: 4, lifecycle: archived, tornDown: true, digest: "bad"}, {number: 5, lifecycle: active, previous: 4, digest: "bad"}},
		why:    "its content was rolled back from once, by revision 3",
	},
	"OtherContentFails": {
		reason: "other content that fails is answered anew",
		last:   failureLast,
		states: []state{failureBack, {number: 4, lifecycle: active, previous: 3, digest: "worse"}},
		digest: "worse",
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 4, ToRevision: 3, Revision: 5, RejectedDigest: "worse"},
	},
	"ChangedAndBack": {
		reason: "after other content a user has wanted it once more",
		last:   failureLast,
		states: []state{failureBack, {number: 4, lifecycle: active, digest: "fixed", succeeded: true}, {number: 5, lifecycle: active, previous: 4, digest: "bad"}},
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 5, ToRevision: 4, Revision: 6, RejectedDigest: "bad"},
	},
	"OneMinorBack": {
		reason: "as far back as the target lets a rollback go",
		states: []state{failureOf(failureGood, "1.30.2"), failureOf(failureBad, "1.31.0")},
		want:   &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"TooFarBack": {
		reason: "no user asks for it, so no user may be surprised by it either",
		states: []state{failureOf(failureGood, "1.29.1"), failureOf(failureBad, "1.31.0")},
		why:    "it is left where it is, as version 1.29.1 of revision 1 is too far back from version 1.31.0 of revision 2",
	},
	"TooFarBackPastOthers": {
		reason: "what lies in between has not succeeded",
		states: []state{failureOf(failureGood, "1.29.1"), failureOf(state{number: 2, lifecycle: active, digest: "worse"}, "1.30.2"), failureOf(state{number: 3, lifecycle: active, previous: 2, digest: "bad"}, "1.31.0")},
		why:    "too far back",
	},
	"TooFarBackAllowed": {
		reason:  "a person has named the version",
		states:  []state{failureOf(failureGood, "1.29.1"), failureOf(failureBad, "1.31.0")},
		allowed: "1.29.1",
		want:    &v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
}

func TestLine_AnswerFailure(t *testing.T) {
	for name, tc := range failureCases {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{OnFailure: v1alpha1.FailureRollback}, v1alpha1.PackageStatus{AutomaticRollback: tc.last})
			if tc.allowed != "" {
				pkg.Annotations = map[string]string{v1alpha1.AnnotationAllowVersion: tc.allowed}
			}
			if tc.hold {
				pkg.Spec.OnFailure = v1alpha1.FailureHold
			}
			digest := tc.digest
			if digest == "" {
				digest = "bad"
			}
			next, outcome, why := Sort(pkg, revisionsOf(tc.states)).AnswerFailure(pkg, Failure{Digest: digest, Cause: "nothing moved", At: at(100)})
			if diff := cmp.Diff(tc.want, outcome); diff != "" {
				t.Errorf("%s: outcome (-want +got):\n%s", tc.reason, diff)
			}
			if !strings.Contains(why, tc.why) || (why == "") != (tc.why == "") {
				t.Errorf("%s: left where it is since %q, want %q", tc.reason, why, tc.why)
			}
			if (next == nil) != (tc.want == nil) {
				t.Fatalf("%s: the revision is %+v", tc.reason, next)
			}
			if next == nil {
				return
			}
			if next.Spec.Revision != tc.want.Revision || next.Spec.Previous != tc.want.FromRevision || !strings.HasSuffix(next.Spec.Origin.Reason, ": nothing moved") {
				t.Errorf("%s: the revision is %+v", tc.reason, next.Spec)
			}
			// What was created and not recorded is found again.
			after := Sort(pkg, append(revisionsOf(tc.states), *next))
			lost := *tc.want
			lost.RejectedDigest = after.Find(tc.want.FromRevision).Spec.ContentDigest
			if diff := cmp.Diff(&lost, after.MissingRecord(pkg, SpecDigest)); diff != "" {
				t.Errorf("%s: record that was lost (-want +got):\n%s", tc.reason, diff)
			}
			pkg.Status.AutomaticRollback = outcome
			if record := after.MissingRecord(pkg, SpecDigest); record != nil {
				t.Errorf("%s: a record is missing that is there: %+v", tc.reason, record)
			}
			if again, _, _ := after.AnswerFailure(pkg, Failure{Digest: "good", At: at(200)}); again != nil {
				t.Errorf("%s: a rollback was rolled back from: %+v", tc.reason, again.Spec)
			}
		})
	}
}
