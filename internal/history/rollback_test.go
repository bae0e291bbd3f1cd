// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

// made is what matters of the revision that a rollback makes.
type made struct {
	Number, Previous int64
	Phase, Probe     string
	Digest, Stamp    string
	Origin           v1alpha1.Origin
}

func madeOf(r *v1alpha1.Revision) *made {
	if r == nil {
		return nil
	}
	return &made{
		Number: r.Spec.Revision, Previous: r.Spec.Previous, Phase: r.Spec.Phases[0].Name, Probe: r.Spec.Probes[0].Name,
		Digest: r.Spec.ContentDigest, Stamp: r.Annotations[v1alpha1.AnnotationRequestedAt], Origin: *r.Spec.Origin,
	}
}

func by(origin v1alpha1.Origin, who string) v1alpha1.Origin {
	origin.CreatedBy = who
	return origin
}

// rollbackCase is a case of [TestLine_Rollback].
type rollbackCase struct {
	reason      string
	request     v1alpha1.Rollback
	states      []state
	highest     int64
	want        *made
	wantStatus  v1alpha1.RollbackStatus
	wantMessage string
}

const rollbackStamp100 = "1970-01-01T00:01:40Z"

var rollbackFromFront = &v1alpha1.Origin{
	Kind: v1alpha1.OriginFront, Reference: "GatewayClass/a", Generation: 4, AppVersion: "1.28.3", Images: []string{"pilot"}, Reason: "first", CreatedBy: "alice",
}

var rollbackGood = state{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good", origin: rollbackFromFront}

var rollbackBad = state{number: 2, lifecycle: active, previous: 1, digest: "bad"}

var rollbackBack = func(reason string) v1alpha1.Origin {
	return v1alpha1.Origin{
		Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-1", AppVersion: "1.28.3", Images: []string{"pilot"}, Reason: reason,
	}
}

var rollbackBackOrigin = rollbackBack("rollback from revision 2 to 1")

var rollbackAnswered = state{number: 3, lifecycle: active, previous: 2, digest: "good", origin: &rollbackBackOrigin, stamp: rollbackStamp100}

// rollbackCases are the cases of [TestLine_Rollback].
var rollbackCases = map[string]rollbackCase{
	"ToANumber": {
		reason:  "the content of the named revision comes again as the next one, with what it is kept of its origin",
		request: v1alpha1.Rollback{ToRevision: 1, Reason: "gateways lose connections", RequestedAt: at(100)},
		states:  []state{rollbackGood, rollbackBad},
		want: &made{
			Number: 3, Previous: 2, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100,
			Origin: rollbackBack("rollback from revision 2 to 1: gateways lose connections"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"ByWhoAsks": {
		reason:  "the user who made the content first did not roll back to it",
		request: v1alpha1.Rollback{ToRevision: 1, By: "bob", RequestedAt: at(100)},
		states:  []state{rollbackGood, rollbackBad},
		want: &made{
			Number: 3, Previous: 2, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100,
			Origin: by(rollbackBack("rollback from revision 2 to 1"), "bob"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"NumbersAreNotReused": {
		reason:  "a rollback takes the next number of all that were ever given",
		request: v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)},
		states:  []state{rollbackGood, rollbackBad},
		highest: 8,
		want: &made{
			Number: 9, Previous: 2, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100,
			Origin: rollbackBack("rollback from revision 2 to 1"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 9, RejectedDigest: "bad"},
	},
	"DefaultIsTheNewestOtherSuccess": {
		reason:  "without a number, what failed and what has the target's own content is passed over",
		request: v1alpha1.Rollback{RequestedAt: at(100)},
		states: []state{
			rollbackGood,
			{number: 2, lifecycle: archived, tornDown: true, digest: "worse"},
			{number: 3, lifecycle: archived, tornDown: true, succeeded: true, digest: "bad"},
			{number: 4, lifecycle: active, digest: "bad"},
		},
		want: &made{
			Number: 5, Previous: 4, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100,
			Origin: rollbackBack("rollback from revision 4 to 1"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 4, ToRevision: 1, Revision: 5, RejectedDigest: "bad"},
	},
	"DefaultMayStillServe": {
		reason:  "the newest success may be a revision that still serves",
		request: v1alpha1.Rollback{RequestedAt: at(100)},
		states:  []state{{number: 1, lifecycle: active, succeeded: true, digest: "good", origin: rollbackFromFront}, rollbackBad},
		want: &made{
			Number: 3, Previous: 2, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100,
			Origin: rollbackBack("rollback from revision 2 to 1"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"RolledBackContentIsPassedOver": {
		reason:  "the same command by a second person does not bring back what the first has rolled back",
		request: v1alpha1.Rollback{RequestedAt: at(200)},
		states: []state{
			rollbackGood,
			{number: 2, lifecycle: archived, tornDown: true, succeeded: true, digest: "better", origin: rollbackFromFront},
			{number: 3, lifecycle: archived, tornDown: true, succeeded: true, digest: "bad"},
			{number: 4, lifecycle: active, previous: 3, succeeded: true, digest: "better", origin: &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-2"}},
		},
		want: &made{
			Number: 5, Previous: 4, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: "1970-01-01T00:03:20Z",
			Origin: rollbackBack("rollback from revision 4 to 1, past revision 3, which was rolled back before"),
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(200), FromRevision: 4, ToRevision: 1, Revision: 5, RejectedDigest: "better"},
	},
	"OnlyRolledBackContentHasSucceeded": {
		reason:  "what was rolled back comes again by its number alone",
		request: v1alpha1.Rollback{RequestedAt: at(200)},
		states: []state{
			rollbackGood,
			{number: 2, lifecycle: archived, tornDown: true, succeeded: true, digest: "bad"},
			{number: 3, lifecycle: active, previous: 2, succeeded: true, digest: "good", origin: &rollbackBackOrigin},
		},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(200), FromRevision: 3},
		wantMessage: "name one with spec.rollback.toRevision",
	},
	"NoEarlierSuccess": {
		reason:      "there is nothing to go back to by default",
		request:     v1alpha1.Rollback{RequestedAt: at(100)},
		states:      []state{{number: 1, lifecycle: archived, tornDown: true, digest: "worse"}, rollbackBad},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2},
		wantMessage: "spec.rollback.toRevision",
	},
	"MissingRevision": {
		reason:      "a revision that was pruned cannot come again",
		request:     v1alpha1.Rollback{ToRevision: 7, RequestedAt: at(100)},
		states:      []state{rollbackGood, rollbackBad},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 7},
		wantMessage: "revision 7 does not exist",
	},
	"SameContent": {
		reason:      "a rollback that changes nothing makes no revision",
		request:     v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)},
		states:      []state{rollbackGood, {number: 2, lifecycle: active, digest: "good"}},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1},
		wantMessage: "revision 1 has the content that the target, revision 2, has already",
	},
	"TargetItselfWithoutDigest": {
		reason:      "going back to where the line is makes no revision, digest or not",
		request:     v1alpha1.Rollback{ToRevision: 2, RequestedAt: at(100)},
		states:      []state{rollbackGood, {number: 2, lifecycle: active}},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 2},
		wantMessage: "revision 2 is the target already",
	},
	"NoTarget": {
		reason:      "without an active revision there is nothing to roll back",
		request:     v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)},
		states:      []state{rollbackGood},
		wantStatus:  v1alpha1.RollbackStatus{RequestedAt: at(100), ToRevision: 1},
		wantMessage: "no active revision",
	},
	"MadeAlready": {
		reason:     "a revision that was made for this request before its record was lost is recorded, not refused as having the same content",
		request:    v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)},
		states:     []state{rollbackGood, rollbackBad, rollbackAnswered},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"MadeAlreadyByDefault": {
		reason:  "without a number, the rollback is not itself rolled back to what it rejects",
		request: v1alpha1.Rollback{RequestedAt: at(100)},
		states: []state{
			rollbackGood, {number: 2, lifecycle: active, previous: 1, succeeded: true, digest: "bad"}, rollbackAnswered,
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"MadeAlreadyAndRejectedIsGone": {
		reason:     "the record is made of what is still known",
		request:    v1alpha1.Rollback{RequestedAt: at(100)},
		states:     []state{rollbackAnswered},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3},
	},
	"MadeAlreadyAndOvertaken": {
		reason:     "a revision that was made for this request is found behind a newer one, too: two requests at once make one each",
		request:    v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)},
		states:     []state{rollbackGood, rollbackBad, rollbackAnswered, {number: 4, lifecycle: active, previous: 3, digest: "new"}},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
	"MadeForAnEarlierRequest": {
		reason:  "a new request is not answered by the revision of an earlier one",
		request: v1alpha1.Rollback{ToRevision: 2, RequestedAt: at(200)},
		states:  []state{rollbackGood, {number: 2, lifecycle: archived, tornDown: true, digest: "bad", origin: rollbackFromFront}, rollbackAnswered},
		want: &made{
			Number: 4, Previous: 3, Phase: "content-bad", Probe: "probe-bad", Digest: "bad", Stamp: "1970-01-01T00:03:20Z",
			Origin: v1alpha1.Origin{
				Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-2", AppVersion: "1.28.3", Images: []string{"pilot"},
				Reason: "rollback from revision 3 to 2",
			},
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(200), FromRevision: 3, ToRevision: 2, Revision: 4, RejectedDigest: "good"},
	},
	"MadeForTheSameTimeToAnotherNumber": {
		reason:  "the same time with another number is another request",
		request: v1alpha1.Rollback{ToRevision: 2, RequestedAt: at(100)},
		states:  []state{rollbackGood, {number: 2, lifecycle: archived, tornDown: true, digest: "bad", origin: rollbackFromFront}, rollbackAnswered},
		want: &made{
			Number: 4, Previous: 3, Phase: "content-bad", Probe: "probe-bad", Digest: "bad", Stamp: rollbackStamp100,
			Origin: v1alpha1.Origin{
				Kind: v1alpha1.OriginRollback, Reference: "Revision/istiod-2", AppVersion: "1.28.3", Images: []string{"pilot"},
				Reason: "rollback from revision 3 to 2",
			},
		},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 3, ToRevision: 2, Revision: 4, RejectedDigest: "good"},
	},
	"StampOnAnotherKindOfRevision": {
		reason:     "a note that a user has copied to a revision of another origin is not believed",
		request:    v1alpha1.Rollback{RequestedAt: at(100)},
		states:     []state{rollbackGood, {number: 2, lifecycle: active, digest: "bad", origin: rollbackFromFront, stamp: rollbackStamp100}},
		want:       &made{Number: 3, Previous: 2, Phase: "content-good", Probe: "probe-good", Digest: "good", Stamp: rollbackStamp100, Origin: rollbackBack("rollback from revision 2 to 1")},
		wantStatus: v1alpha1.RollbackStatus{RequestedAt: at(100), FromRevision: 2, ToRevision: 1, Revision: 3, RejectedDigest: "bad"},
	},
}

func TestLine_Rollback(t *testing.T) {
	for name, tc := range rollbackCases {
		t.Run(name, func(t *testing.T) {
			pkg := packageOf(v1alpha1.PackageSpec{Rollback: &tc.request}, v1alpha1.PackageStatus{HighestRevision: tc.highest})
			revisions := revisionsOf(tc.states)
			next, status := Sort(pkg, revisions).Rollback(pkg, SpecDigest)
			if diff := cmp.Diff(tc.want, madeOf(next)); diff != "" {
				t.Errorf("%s: revision (-want +got):\n%s", tc.reason, diff)
			}
			if !strings.Contains(status.Message, tc.wantMessage) || (status.Message == "") != (tc.wantMessage == "") {
				t.Errorf("%s: message %q, want one with %q", tc.reason, status.Message, tc.wantMessage)
			}
			status.Message = ""
			if diff := cmp.Diff(tc.wantStatus, *status); diff != "" {
				t.Errorf("%s: status (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(revisionsOf(tc.states), revisions); diff != "" {
				t.Errorf("%s: the line's revisions were changed (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLine_Rollback_LongReason(t *testing.T) {
	request := &v1alpha1.Rollback{ToRevision: 1, Reason: strings.Repeat("ü", 1024), RequestedAt: at(100)}
	pkg := packageOf(v1alpha1.PackageSpec{Rollback: request}, v1alpha1.PackageStatus{})
	next, _ := Sort(pkg, revisionsOf([]state{
		{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good"}, {number: 2, lifecycle: active, digest: "bad"},
	})).Rollback(pkg, SpecDigest)
	got := next.Spec.Origin.Reason
	if utf8.RuneCountInString(got) > 1024 || !utf8.ValidString(got) {
		t.Errorf("the reason has %d characters: the API takes 1024, and would refuse the revision for ever", utf8.RuneCountInString(got))
	}
	if !strings.HasPrefix(got, "rollback from revision 2 to 1: üü") {
		t.Errorf("the reason does not start with what happened: %.60q", got)
	}
}

// A rollback of content with an identity keeps what says what it is, and nothing of ours.
func TestLine_Rollback_Metadata(t *testing.T) {
	states := []state{
		{number: 1, lifecycle: archived, tornDown: true, succeeded: true, digest: "good", origin: &v1alpha1.Origin{Kind: v1alpha1.OriginFront, Identity: "p/1.0.0"}},
		{number: 2, lifecycle: active, digest: "bad"},
	}
	revisions := revisionsOf(states)
	revisions[0].Labels = map[string]string{"example.com/owner": "a"}
	revisions[0].Annotations = map[string]string{"example.com/bundle": "p.v1", "strata.run/pause-reason": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	pkg := packageOf(v1alpha1.PackageSpec{Rollback: &v1alpha1.Rollback{ToRevision: 1, RequestedAt: at(100)}}, v1alpha1.PackageStatus{})
	next, _ := Sort(pkg, revisions).Rollback(pkg, SpecDigest)
	if next.Spec.Origin.Identity != "p/1.0.0" || next.Labels["example.com/owner"] != "a" || next.Labels[v1alpha1.LabelPackage] != pkg.Name {
		t.Errorf("identity %q, labels %v", next.Spec.Origin.Identity, next.Labels)
	}
	delete(next.Annotations, v1alpha1.AnnotationRequestedAt)
	if diff := cmp.Diff(map[string]string{"example.com/bundle": "p.v1"}, next.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
