// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// rolled is revision number with the state of a rollout of the phases given.
func rolled(number int64, version string, phases ...phase) v1alpha1.Revision {
	r := revisionOf(number, phases...)
	r.Spec.Origin.AppVersion = version
	r.Status = status.ForTarget(r, observe(100+number, phases...))
	return *r
}

func archivedAt(r v1alpha1.Revision) v1alpha1.Revision {
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	r.Status = status.ForArchiving(&r, revisions.TeardownResult{Complete: true}, nil, at(150))
	return r
}

// packageCase is a case of [TestForPackage].
type packageCase struct {
	reason        string
	revisions     []v1alpha1.Revision
	spec          v1alpha1.PackageSpec
	before        v1alpha1.PackageStatus
	serves        probes.Result
	err           error
	want          packageSummary
	wantProgress  string
	wantAvailable string
	wantReady     string
}

var packageGood = []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{ready, ready}}}

var packageHalfway = []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{failing, ready}}}

var packageHit = []phase{{name: "crds", objects: []stand{colliding}}, {name: "plane", size: 2}}

var packageServes = probes.Result{Status: probes.True, Message: "revision 1 serves"}

var packageNotYet = probes.Result{Status: probes.False, Message: "no revision has succeeded yet"}

const packageRollingOut = "revision 2 (1.29.0): phase 2/2 plane waits for Deployment istio-system/plane-0: 0 of 1 replicas are available"

const packageNoRevision = "the package has no active revision: create a Revision, or wait for the front that makes them"

type packageSummary struct {
	Current, Target, Highest int64
	Version, Phase, Probes   string
}

// packageCases are the cases of [TestForPackage].
var packageCases = map[string]packageCase{
	"NoRevision": {
		reason:        "a package without revisions says what to do",
		wantProgress:  "False/NoRevision: " + packageNoRevision,
		wantAvailable: "False/NoRevision: " + packageNoRevision, wantReady: "False/NoRevision: " + packageNoRevision,
	},
	"EverythingArchived": {
		reason: "without an active revision nothing runs; what ran last and the numbers stay known", revisions: []v1alpha1.Revision{archivedAt(rolled(1, "1.28.0", packageGood...))},
		before: v1alpha1.PackageStatus{HighestRevision: 4, TargetRevision: 1, Phase: "2/2", Probes: "3/3"},
		want:   packageSummary{Current: 1, Highest: 4, Version: "1.28.0"}, wantProgress: "False/NoRevision: " + packageNoRevision,
		wantAvailable: "False/NoRevision: " + packageNoRevision, wantReady: "False/NoRevision: " + packageNoRevision,
	},
	"FirstRollout": {
		reason: "before the first success nothing serves", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageHalfway...)}, serves: packageNotYet,
		want:         packageSummary{Target: 2, Highest: 2, Phase: "1/2", Probes: "2/3"},
		wantProgress: "True/RollingOut: " + packageRollingOut, wantAvailable: "False/RollingOut: the first revision has not been rolled out yet",
		wantReady: "False/NotReady: " + packageRollingOut,
	},
	"NotLookedAtYet": {
		reason: "a revision that has no status yet is about to be looked at", revisions: []v1alpha1.Revision{*revisionOf(2)}, serves: packageNotYet,
		want:         packageSummary{Target: 2, Highest: 2},
		wantProgress: "True/RollingOut: revision 2 (1.29.0) is checked", wantAvailable: "False/RollingOut: the first revision has not been rolled out yet",
		wantReady: "False/NotReady: revision 2 (1.29.0) is checked",
	},
	"RolledOut": {
		reason: "the package is ready when its target is rolled out and serves", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageGood...)}, serves: packageServes,
		want:         packageSummary{Current: 2, Target: 2, Highest: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantReady: "True/Ready: revision 2 (1.29.0) is rolled out and serves",
	},
	"Handover": {
		reason: "the operand stays available while a newer revision is rolled out", revisions: []v1alpha1.Revision{rolled(1, "1.28.0", packageGood...), rolled(2, "1.29.0", packageHalfway...)}, serves: packageServes,
		want:         packageSummary{Current: 1, Target: 2, Highest: 2, Version: "1.28.0", Phase: "1/2", Probes: "2/3"},
		wantProgress: "True/RollingOut: " + packageRollingOut, wantAvailable: "True/Serving: revision 1 serves while revision 2 is rolled out",
		wantReady: "False/NotReady: " + packageRollingOut,
	},
	"HandoverThatHurts": {
		reason: "an operand that does not serve is not available, whichever revision is to blame", revisions: []v1alpha1.Revision{rolled(1, "1.28.0", packageGood...), rolled(2, "1.29.0", packageHalfway...)},
		serves:       probes.Result{Status: probes.False, Message: "Deployment.apps istio-system/plane-0: not available"},
		want:         packageSummary{Current: 1, Target: 2, Highest: 2, Version: "1.28.0", Phase: "1/2", Probes: "2/3"},
		wantProgress: "True/RollingOut: " + packageRollingOut, wantAvailable: "False/ProbeFailed: Deployment.apps istio-system/plane-0: not available",
		wantReady: "False/NotReady: " + packageRollingOut,
	},
	"Collision": {
		reason: "what stops the target is the package's trouble", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageHit...)}, serves: packageNotYet,
		want:          packageSummary{Target: 2, Highest: 2, Phase: "0/2", Probes: "0/3"},
		wantProgress:  "False/ObjectCollisions: revision 2 (1.29.0): Deployment istio-system/crds-0: it is controlled by Other x: delete it",
		wantAvailable: "False/RollingOut: the first revision has not been rolled out yet",
		wantReady:     "False/NotReady: revision 2 (1.29.0): Deployment istio-system/crds-0: it is controlled by Other x: delete it",
	},
	"NotLoaded": {
		reason: "when nothing could be looked at, it is unknown whether it serves", revisions: []v1alpha1.Revision{func() v1alpha1.Revision {
			r := rolled(2, "1.29.0", packageGood...)
			r.Status = status.ForTarget(&r, status.Observation{Err: errors.New("timeout"), Now: at(200)})
			return r
		}()},
		want:         packageSummary{Current: 2, Target: 2, Highest: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolloutError: revision 2 (1.29.0): timeout", wantAvailable: "Unknown/Unknown: the objects could not be checked: revision 2 (1.29.0): timeout",
		wantReady: "False/NotReady: revision 2 (1.29.0): timeout",
	},
	"NotLoadedBeforeTheFirstSuccess": {
		reason: "what has never been rolled out does not serve, looked at or not", revisions: []v1alpha1.Revision{func() v1alpha1.Revision {
			r := *revisionOf(2, packageGood...)
			r.Status = status.ForTarget(&r, status.Observation{Err: errors.New("timeout"), Now: at(200)})
			return r
		}()},
		want:         packageSummary{Target: 2, Highest: 2},
		wantProgress: "False/RolloutError: revision 2 (1.29.0): timeout", wantAvailable: "False/RollingOut: the first revision has not been rolled out yet",
		wantReady: "False/NotReady: revision 2 (1.29.0): timeout",
	},
	"ProbeFailsLater": {
		reason: "ready means that it serves, not that it once did", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageGood...)},
		serves:       probes.Result{Status: probes.False, Message: "Deployment.apps istio-system/plane-0: not available"},
		want:         packageSummary{Current: 2, Target: 2, Highest: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "False/ProbeFailed: Deployment.apps istio-system/plane-0: not available",
		wantReady: "False/NotReady: Deployment.apps istio-system/plane-0: not available",
	},
	"RolledBack": {
		reason:    "a line that was rolled back is ready, and says what runs and what was rejected",
		revisions: []v1alpha1.Revision{archivedAt(rolled(1, "1.28.0", packageGood...)), archivedAt(rolled(2, "1.29.0", packageHalfway...)), rolled(3, "1.28.0", packageGood...)},
		spec:      v1alpha1.PackageSpec{Rollback: &v1alpha1.Rollback{RequestedAt: at(1)}},
		before:    v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{RequestedAt: at(1), FromRevision: 2, ToRevision: 1, Revision: 3}}, serves: packageServes,
		want:         packageSummary{Current: 3, Target: 3, Highest: 3, Version: "1.28.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 3 (1.28.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantReady: "True/RolledBack: the content of revision 1 runs; that of revision 2 was rejected",
	},
	"RolledBackAndOnAgain": {
		reason:    "after a newer revision the rollback is history",
		revisions: []v1alpha1.Revision{archivedAt(rolled(3, "1.28.0", packageGood...)), rolled(4, "1.29.1", packageGood...)},
		before:    v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{RequestedAt: at(1), FromRevision: 2, ToRevision: 1, Revision: 3}}, serves: packageServes,
		want:         packageSummary{Current: 4, Target: 4, Highest: 4, Version: "1.29.1", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 4 (1.29.1) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantReady: "True/Ready: revision 4 (1.29.1) is rolled out and serves",
	},
	"RollbackRefused": {
		reason: "a refused rollback is reported, and what runs is as ready as before", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageGood...)},
		spec:   v1alpha1.PackageSpec{Rollback: &v1alpha1.Rollback{ToRevision: 7, RequestedAt: at(1)}},
		before: v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{RequestedAt: at(1), FromRevision: 2, ToRevision: 7, Message: "revision 7 does not exist"}}, serves: packageServes,
		want:          packageSummary{Current: 2, Target: 2, Highest: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress:  "False/RollbackRefused: revision 2 (1.29.0) is rolled out; the rollback that was asked for was refused: revision 7 does not exist",
		wantAvailable: "True/ProbesSucceeded: the operand serves", wantReady: "True/Ready: revision 2 (1.29.0) is rolled out and serves",
	},
	"RollbackRefusedDuringARollout": {
		reason: "a rollout that goes on is not covered up", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageHalfway...)},
		spec:   v1alpha1.PackageSpec{Rollback: &v1alpha1.Rollback{ToRevision: 7, RequestedAt: at(1)}},
		before: v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{RequestedAt: at(1), FromRevision: 2, ToRevision: 7, Message: "revision 7 does not exist"}}, serves: packageNotYet,
		want:         packageSummary{Target: 2, Highest: 2, Phase: "1/2", Probes: "2/3"},
		wantProgress: "True/RollingOut: " + packageRollingOut, wantAvailable: "False/RollingOut: the first revision has not been rolled out yet",
		wantReady: "False/NotReady: " + packageRollingOut,
	},
	"RefusedRequestTakenAway": {
		reason: "a refusal is reported until the request goes", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageGood...)},
		before: v1alpha1.PackageStatus{Rollback: &v1alpha1.RollbackStatus{RequestedAt: at(1), FromRevision: 2, ToRevision: 7, Message: "revision 7 does not exist"}}, serves: packageServes,
		want:         packageSummary{Current: 2, Target: 2, Highest: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantReady: "True/Ready: revision 2 (1.29.0) is rolled out and serves",
	},
	"HighWaterMark": {
		reason: "numbers of revisions that are gone stay given", revisions: []v1alpha1.Revision{rolled(2, "1.29.0", packageGood...)},
		before: v1alpha1.PackageStatus{HighestRevision: 9}, serves: packageServes,
		want:         packageSummary{Current: 2, Target: 2, Highest: 9, Version: "1.29.0", Phase: "2/2", Probes: "3/3"},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantReady: "True/Ready: revision 2 (1.29.0) is rolled out and serves",
	},
}

func TestForPackage(t *testing.T) {
	for name, tc := range packageCases {
		t.Run(name, func(t *testing.T) {
			pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istiod", Generation: generation}, Spec: tc.spec, Status: tc.before}
			frozen := pkg.DeepCopy()
			forPackage := func(now int64) v1alpha1.PackageStatus {
				return status.ForPackage(pkg, history.Sort(pkg, tc.revisions), tc.serves, tc.err, at(now))
			}
			got := forPackage(1000)
			if diff := cmp.Diff(frozen, pkg); diff != "" {
				t.Errorf("%s: the package was changed:\n%s", tc.reason, diff)
			}
			again := forPackage(1000)
			pkg.Status = got
			checkPackage(t, pkg)
			statustest.Stable(t, tc.reason, got, again, forPackage(1060))
			if diff := cmp.Diff(tc.want, packageSummary{
				Current: got.CurrentRevision, Target: got.TargetRevision, Highest: got.HighestRevision,
				Version: got.Version, Phase: got.Phase, Probes: got.Probes,
			}); diff != "" {
				t.Errorf("%s: summary (-want +got):\n%s", tc.reason, diff)
			}
			for kind, want := range map[string]string{
				v1alpha1.ConditionProgressing: tc.wantProgress, v1alpha1.ConditionAvailable: tc.wantAvailable, v1alpha1.ConditionReady: tc.wantReady,
			} {
				if diff := cmp.Diff(want, statustest.Text(got.Conditions, kind)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, kind, diff)
				}
			}
			if diff := cmp.Diff(tc.before.Rollback, got.Rollback); diff != "" {
				t.Errorf("%s: the handled rollback has changed (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestForPackage_NoRevisionBecauseOfAnError(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istiod", Generation: generation}}
	pkg.Status = status.ForPackage(pkg, history.History{}, probes.Result{}, errors.New("timeout"), at(1))
	checkPackage(t, pkg)
	if got := statustest.Text(pkg.Status.Conditions, v1alpha1.ConditionProgressing); got != "False/NoRevision: timeout" {
		t.Errorf("Progressing is %s, want the cause", got)
	}
}

func TestForError(t *testing.T) {
	good := []phase{{name: "plane", objects: []stand{ready}}}
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istiod", Generation: generation}}
	pkg.Status = status.ForError(pkg, errors.New("claiming revision istiod-1: forbidden"), at(1))
	checkPackage(t, pkg)
	if got := statustest.Text(pkg.Status.Conditions, v1alpha1.ConditionAvailable); got != "Unknown/Unknown: claiming revision istiod-1: forbidden" {
		t.Errorf("of a package that was never looked at, Available is %s", got)
	}

	pkg.Status = status.ForPackage(pkg, history.Sort(pkg, []v1alpha1.Revision{rolled(2, "1.29.0", good...)}), probes.Result{Status: probes.True}, nil, at(2))
	before := pkg.Status.DeepCopy()
	pkg.Status = status.ForError(pkg, errors.New("claiming revision istiod-1: forbidden"), at(3))
	checkPackage(t, pkg)
	for kind, want := range map[string]string{
		v1alpha1.ConditionProgressing: "False/RolloutError: claiming revision istiod-1: forbidden",
		v1alpha1.ConditionReady:       "False/NotReady: claiming revision istiod-1: forbidden",
		v1alpha1.ConditionAvailable:   "True/ProbesSucceeded: the operand serves",
	} {
		if got := statustest.Text(pkg.Status.Conditions, kind); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
	after := pkg.Status.DeepCopy()
	before.Conditions, after.Conditions = nil, nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what was known stays (-before +after):\n%s", diff)
	}
}

func TestForTeardown(t *testing.T) {
	tests := map[string]struct {
		reason string
		result revisions.TeardownResult
		err    error
		want   string
	}{
		"Waiting": {
			reason: "what is waited for is named",
			result: removed(false, waitingFor(1, "it is being deleted", nil)),
			want:   "waits for Deployment.apps istio-system/plane-1 of phase plane: it is being deleted",
		},
		"Error": {reason: "what keeps it from going on is reported", err: errors.New("ObjectSlice sha256-1 does not exist"), want: "ObjectSlice sha256-1 does not exist"},
		"Begun": {reason: "a message is never empty", want: "objects that no newer revision contains are deleted, in reverse phase order"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istiod", Generation: generation}, Status: v1alpha1.PackageStatus{
				CurrentRevision: 2, TargetRevision: 2, HighestRevision: 2, Version: "1.29.0", Phase: "2/2", Probes: "3/3",
			}}
			got := status.ForTeardown(pkg, tc.result, tc.err, at(1))
			again := status.ForTeardown(pkg, tc.result, tc.err, at(1))
			pkg.Status = got
			checkPackage(t, pkg)
			statustest.Stable(t, tc.reason, got, again, status.ForTeardown(pkg, tc.result, tc.err, at(61)))
			for kind, want := range map[string]string{
				v1alpha1.ConditionProgressing: "True/TearingDown: " + tc.want,
				v1alpha1.ConditionAvailable:   "False/TearingDown: " + tc.want,
				v1alpha1.ConditionReady:       "False/TearingDown: " + tc.want,
			} {
				if diff := cmp.Diff(want, statustest.Text(got.Conditions, kind)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, kind, diff)
				}
			}
			if got.HighestRevision != 2 || got.CurrentRevision != 2 {
				t.Errorf("%s: what was known is lost: %+v", tc.reason, got)
			}
		})
	}
}
