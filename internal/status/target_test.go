// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// targetConditionCase is a case of [TestForTarget_Conditions].
type targetConditionCase struct {
	reason        string
	phases        []phase
	before        func(s *v1alpha1.RevisionStatus)
	observe       func(o *status.Observation)
	wantProgress  string
	wantAvailable string
	wantSucceeded bool
}

var targetConditionComplete = []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{ready, ready}}}

var targetConditionHalfway = []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{failing, ready}}}

var targetConditionBlockedFirst = func(s stand) []phase {
	return []phase{{name: "crds", objects: []stand{s}}, {name: "plane", size: 2}}
}

const targetConditionNotYet = "False/RollingOut: the revision has not been rolled out completely"

var errServing = fmt.Errorf("revision 1, phase plane: %w", errors.New("namespaces \"old\" not found"))

var targetConditionSucceeded = func(s *v1alpha1.RevisionStatus) {
	s.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolloutSuccess,
		Message: "the revision was rolled out", ObservedGeneration: 1, LastTransitionTime: at(1),
	}}
	s.SucceededAt = new(at(1))
}

// targetConditionCases are the cases of [TestForTarget_Conditions].
var targetConditionCases = map[string]targetConditionCase{
	"RollingOut": {
		reason: "the message names the phase and what it waits for", phases: targetConditionHalfway,
		wantProgress:  "True/RollingOut: phase 2/2 plane waits for Deployment istio-system/plane-0: 0 of 1 replicas are available",
		wantAvailable: targetConditionNotYet,
	},
	"ProbeWithoutAnAnswer": {
		reason: "Unknown holds the gate, and is said although the probe says nothing", phases: targetConditionBlockedFirst(undecided),
		wantProgress:  "True/RollingOut: phase 1/2 crds waits for Deployment istio-system/crds-0: its probe gives no details",
		wantAvailable: targetConditionNotYet,
	},
	"Waiting": {
		reason: "an object that cannot be applied yet is what the phase waits for", phases: targetConditionBlockedFirst(blocked),
		wantProgress:  "True/RollingOut: phase 1/2 crds waits for Deployment istio-system/crds-0: it is being deleted",
		wantAvailable: targetConditionNotYet,
	},
	"RolledOut": {
		reason: "with every phase complete the rollout is done, and has succeeded", phases: targetConditionComplete,
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
		wantSucceeded: true,
	},
	"NoPhases": {
		reason: "a revision of nothing is rolled out at once", phases: nil,
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
		wantSucceeded: true,
	},
	"NoPhasesAndAnError": {
		reason: "a revision of nothing has not succeeded when the pass failed", phases: nil,
		observe:      func(o *status.Observation) { o.Err = errors.New("timeout") },
		wantProgress: "False/RolloutError: timeout", wantAvailable: targetConditionNotYet,
	},
	"Collision": {
		reason: "an object of another owner stops the rollout; the message names the owner and the remedy", phases: targetConditionBlockedFirst(colliding),
		wantProgress:  "False/ObjectCollisions: Deployment istio-system/crds-0: it is controlled by Other x: delete it",
		wantAvailable: targetConditionNotYet,
	},
	"CollisionBesideAnError": {
		reason: "a collision needs a person, an error may mend itself", phases: []phase{{name: "crds", objects: []stand{refused, colliding}}, {name: "plane", size: 2}},
		observe:       func(o *status.Observation) { o.Err = errors.New("phase crds: no") },
		wantProgress:  "False/ObjectCollisions: Deployment istio-system/crds-1: it is controlled by Other x: delete it",
		wantAvailable: targetConditionNotYet,
	},
	"RolloutError": {
		reason: "what the API server refused is reported", phases: targetConditionBlockedFirst(refused),
		observe:       func(o *status.Observation) { o.Err = errors.New("phase crds: applying: admission webhook says no") },
		wantProgress:  "False/RolloutError: phase crds: applying: admission webhook says no",
		wantAvailable: targetConditionNotYet,
	},
	"ObjectRefused": {
		reason: "what the API server refuses as not valid takes other content", phases: targetConditionBlockedFirst(refused),
		observe: func(o *status.Observation) {
			o.Err = errors.Join(errors.New("timeout"), fmt.Errorf("phase crds: applying: %w", apierrors.NewBadRequest("no such field")))
		},
		wantProgress:  "False/ObjectRefused: timeout\nphase crds: applying: no such field",
		wantAvailable: targetConditionNotYet,
	},
	"InvalidSpec": {
		reason: "content that can never be rolled out, wrapped or not", phases: []phase{{name: "crds", size: 1}, {name: "plane", size: 2}},
		observe: func(o *status.Observation) {
			o.Err = fmt.Errorf("pass: %w", &revisions.ValidationError{Violations: []string{"phase crds: no name"}})
		},
		wantProgress: "False/InvalidSpec: pass: phase crds: no name", wantAvailable: targetConditionNotYet,
	},
	"InvalidBeforeItWasLoaded": {
		reason: "content that cannot be loaded, ever", phases: targetConditionComplete,
		observe: func(o *status.Observation) {
			*o = status.Observation{Err: &content.InvalidError{Err: errors.New("a Secret stands in it")}, Now: o.Now}
		},
		wantProgress: "False/InvalidSpec: a Secret stands in it", wantAvailable: targetConditionNotYet,
	},
	"ContentUnavailable": {
		reason: "a slice that may be restored", phases: targetConditionComplete,
		observe: func(o *status.Observation) {
			*o = status.Observation{Err: &content.UnavailableError{Slice: "sha256-1", Reason: "does not exist"}, Now: o.Now}
		},
		wantProgress: "False/ContentUnavailable: ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision", wantAvailable: targetConditionNotYet,
	},
	"ContentUnavailableAfterSuccess": {
		reason: "whether what had succeeded still serves is unknown", phases: targetConditionComplete, before: targetConditionSucceeded,
		observe: func(o *status.Observation) {
			*o = status.Observation{Err: &content.UnavailableError{Slice: "sha256-1", Reason: "does not exist"}, Now: o.Now}
		},
		wantProgress:  "False/ContentUnavailable: ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision",
		wantAvailable: "Unknown/Unknown: the objects could not be checked", wantSucceeded: true,
	},
	"Paused": {
		reason: "a pause says who and why", phases: targetConditionHalfway,
		observe: func(o *status.Observation) {
			o.Pause = &v1alpha1.Pause{By: "ann", Reason: "incident 7", Until: new(at(3600))}
		},
		wantProgress: "False/Paused: paused by ann: incident 7", wantAvailable: targetConditionNotYet,
	},
	"PausedByNobodyKnown": {
		reason: "a pause need not say who", phases: targetConditionHalfway,
		observe:      func(o *status.Observation) { o.Pause = &v1alpha1.Pause{Reason: "incident 7"} },
		wantProgress: "False/Paused: paused by an unnamed user: incident 7", wantAvailable: targetConditionNotYet,
	},
	"PausedAndComplete": {
		reason: "observation goes on while paused, and success waits: what has to go is still there, and no time counts for the soak", phases: targetConditionComplete,
		observe:      func(o *status.Observation) { o.Pause = &v1alpha1.Pause{Reason: "incident 7"} },
		wantProgress: "False/Paused: paused by an unnamed user: incident 7", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
	},
	"AwaitingApproval": {
		reason: "what is withheld says what lets it through", phases: targetConditionHalfway,
		observe:      func(o *status.Observation) { o.Unapproved = "its content x is not approved" },
		wantProgress: "False/AwaitingApproval: its content x is not approved", wantAvailable: targetConditionNotYet,
	},
	"AwaitingApprovalAndComplete": {
		reason: "every object is in place already, and others would go: nothing of it has been rolled out", phases: targetConditionComplete,
		observe:      func(o *status.Observation) { o.Unapproved = "gate check" },
		wantProgress: "False/AwaitingApproval: gate check", wantAvailable: targetConditionNotYet,
	},
	"PauseWinsOverApproval": {
		reason: "approving would not start it", phases: targetConditionHalfway,
		observe:      func(o *status.Observation) { o.Unapproved, o.Pause = "gate check", &v1alpha1.Pause{Reason: "x"} },
		wantProgress: "False/Paused: paused by an unnamed user: x", wantAvailable: targetConditionNotYet,
	},
	"PermissionDenied": {
		reason: "missing rights are distinguished from other errors, with verb, resource and remedy", phases: targetConditionHalfway,
		observe: func(o *status.Observation) {
			o.Err = errors.Join(errors.New("timeout"), fmt.Errorf("phase plane: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
				errors.New(`User "system:serviceaccount:apps:web" cannot patch resource "configmaps" in API group "" in the namespace "apps"`))))
		},
		wantProgress:  "False/PermissionDenied: timeout\nphase plane: configmaps \"a\" is forbidden: User \"system:serviceaccount:apps:web\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"apps\": grant the right to the package's identity, or name another one in spec.serviceAccount; the manager retries at least once a minute",
		wantAvailable: targetConditionNotYet,
	},
	"ForbiddenByAQuota": {
		reason: "a quota or a policy forbids, too, and no right would help", phases: targetConditionHalfway,
		observe: func(o *status.Observation) {
			o.Err = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("exceeded quota: small"))
		},
		wantProgress: `False/RolloutError: pods "a" is forbidden: exceeded quota: small`, wantAvailable: targetConditionNotYet,
	},
	"DeadlineAndNoRollback": {
		reason: "why a failure is not answered is reported with it", phases: targetConditionHalfway,
		before: func(s *v1alpha1.RevisionStatus) {
			first := observe(100, targetConditionHalfway...)
			*s = status.ForTarget(revisionOf(2, targetConditionHalfway...), first)
		},
		observe:      func(o *status.Observation) { o.NoRollback = "it is left where it is, as I say" },
		wantProgress: "False/ProgressDeadlineExceeded: nothing moved for 10m0s: phase 2/2 plane waits for Deployment istio-system/plane-0: 0 of 1 replicas are available; it is left where it is, as I say", wantAvailable: targetConditionNotYet,
	},
	"InvalidWinsOverPause": {
		reason: "lifting the pause would not help", phases: targetConditionHalfway,
		observe: func(o *status.Observation) {
			o.Pause, o.Err = &v1alpha1.Pause{Reason: "x"}, &revisions.ValidationError{Violations: []string{"no name"}}
		},
		wantProgress: "False/InvalidSpec: no name", wantAvailable: targetConditionNotYet,
	},
	"PauseWinsOverError": {
		reason: "what fails while nothing is written is second to the pause", phases: targetConditionHalfway,
		observe: func(o *status.Observation) {
			o.Pause, o.Err = &v1alpha1.Pause{Reason: "x"}, errors.New("timeout")
		},
		wantProgress: "False/Paused: paused by an unnamed user: x", wantAvailable: targetConditionNotYet,
	},
	"DeadlineExceeded": {
		reason: "without progress for the deadline, the rollout is reported as hanging, and what it waits for", phases: targetConditionHalfway,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionHalfway...), observe(400, targetConditionHalfway...))
		},
		wantProgress:  "False/ProgressDeadlineExceeded: nothing moved for 10m0s: phase 2/2 plane waits for Deployment istio-system/plane-0: 0 of 1 replicas are available",
		wantAvailable: targetConditionNotYet,
	},
	"RecoversFromDeadlineExceeded": {
		reason: "a rollout that hung can still succeed", phases: targetConditionComplete,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionHalfway...), observe(0, targetConditionHalfway...))
		},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
		wantSucceeded: true,
	},
	"NoDeadline": {
		reason: "a deadline of 0 is none", phases: targetConditionHalfway,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionHalfway...), observe(0, targetConditionHalfway...))
		},
		observe:       func(o *status.Observation) { o.Deadline = 0 },
		wantProgress:  "True/RollingOut: phase 2/2 plane waits for Deployment istio-system/plane-0: 0 of 1 replicas are available",
		wantAvailable: targetConditionNotYet,
	},
	"Soaking": {
		reason: "every phase is complete, and success comes when that has held; the operand is available meanwhile", phases: targetConditionComplete,
		observe:       func(o *status.Observation) { o.Soak = time.Minute },
		wantProgress:  "True/RollingOut: every phase is complete, and has to stay so for 1m0s (soak)",
		wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
	},
	"SoakingBeyondTheDeadline": {
		reason: "a soak is no hang, however long", phases: targetConditionComplete,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionComplete...), func() status.Observation { o := observe(100, targetConditionComplete...); o.Soak = time.Hour; return o }())
		},
		observe:       func(o *status.Observation) { o.Soak = time.Hour },
		wantProgress:  "True/RollingOut: every phase is complete, and has to stay so for 1h0m0s (soak)",
		wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
	},
	"Soaked": {
		reason: "success comes when all has held for the soak", phases: targetConditionComplete,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionComplete...), func() status.Observation {
				o := observe(940, targetConditionComplete...)
				o.Soak = time.Minute
				return o
			}())
		},
		observe:      func(o *status.Observation) { o.Soak = time.Minute },
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
		wantSucceeded: true,
	},
	"SoakInterrupted": {
		reason: "a probe that fell back and came again starts the soak anew", phases: targetConditionComplete,
		before: func(s *v1alpha1.RevisionStatus) {
			*s = status.ForTarget(revisionOf(2, targetConditionComplete...), func() status.Observation {
				o := observe(900, targetConditionComplete...)
				o.Soak = time.Minute
				return o
			}())
			fallen := revisionOf(2, targetConditionComplete...)
			fallen.Status = *s
			*s = status.ForTarget(fallen, func() status.Observation {
				o := observe(990, targetConditionHalfway...)
				o.Soak = time.Minute
				return o
			}())
		},
		observe:       func(o *status.Observation) { o.Soak = time.Minute },
		wantProgress:  "True/RollingOut: every phase is complete, and has to stay so for 1m0s (soak)",
		wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
	},
	"ErrorOfAnOlderRevision": {
		reason: "what an older revision cannot repair does not keep the newer one from replacing it", phases: targetConditionComplete,
		observe:      func(o *status.Observation) { o.Err = errServing },
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: every object is in place and every probe is true",
		wantSucceeded: true,
	},
	"ErrorBeforeTheFirstObject": {
		reason: "what was not looked at is not complete", phases: []phase{{name: "crds", size: 1}, {name: "plane", size: 2}},
		observe:      func(o *status.Observation) { o.Err = errors.New("looking up kinds: timeout") },
		wantProgress: "False/RolloutError: looking up kinds: timeout", wantAvailable: targetConditionNotYet,
	},
	"ProbeFailsAfterSuccess": {
		reason: "success is latched and the rollout stays done; whether it serves is reported by what serves", phases: targetConditionHalfway, before: targetConditionSucceeded,
		observe: func(o *status.Observation) {
			o.Serves = probes.Result{Status: probes.False, Message: "Deployment.apps istio-system/plane-0: not available"}
		},
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "False/ProbeFailed: Deployment.apps istio-system/plane-0: not available",
		wantSucceeded: true,
	},
	"RollingUpdateAfterSuccess": {
		reason: "a Deployment in the middle of a rolling update is not ready and serves", phases: targetConditionHalfway, before: targetConditionSucceeded,
		observe:      func(o *status.Observation) { o.Serves = probes.Result{Status: probes.True} },
		wantProgress: "False/RolledOut: revision 2 (1.29.0) is rolled out", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantSucceeded: true,
	},
	"ErrorAfterSuccess": {
		reason: "a repair that fails is reported", phases: []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{refused, ready}}}, before: targetConditionSucceeded,
		observe: func(o *status.Observation) {
			o.Err, o.Serves = errors.New("phase plane: no"), probes.Result{Status: probes.True}
		},
		wantProgress: "False/RolloutError: phase plane: no", wantAvailable: "True/ProbesSucceeded: the operand serves",
		wantSucceeded: true,
	},
}

func TestForTarget_Conditions(t *testing.T) {
	for name, tc := range targetConditionCases {
		t.Run(name, func(t *testing.T) {
			revision := revisionOf(2, tc.phases...)
			if tc.before != nil {
				tc.before(&revision.Status)
			}
			o := observe(1000, tc.phases...)
			if len(tc.phases) == 0 {
				o.Loaded.Phases = nil
			}
			if tc.observe != nil {
				tc.observe(&o)
			}
			frozen := revision.DeepCopy()
			got := status.ForTarget(revision, o)
			if diff := cmp.Diff(frozen, revision); diff != "" {
				t.Errorf("%s: the revision was changed:\n%s", tc.reason, diff)
			}
			for kind, want := range map[string]string{v1alpha1.ConditionProgressing: tc.wantProgress, v1alpha1.ConditionAvailable: tc.wantAvailable} {
				if diff := cmp.Diff(want, statustest.Text(got.Conditions, kind)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, kind, diff)
				}
			}
			if is := statustest.Text(got.Conditions, v1alpha1.ConditionSucceeded) != ""; is != tc.wantSucceeded || (got.SucceededAt != nil) != tc.wantSucceeded {
				t.Errorf("%s: Succeeded %t, at %v; want %t", tc.reason, is, got.SucceededAt, tc.wantSucceeded)
			}
			again := status.ForTarget(revision, o)
			revision.Status = got
			checkRevision(t, revision)
			o.Now = at(1005)
			statustest.Stable(t, tc.reason, got, again, status.ForTarget(revision, o))
		})
	}
}

// A succeeded revision keeps the time of its success, whatever comes after.
func TestForTarget_SuccessIsLatched(t *testing.T) {
	complete := []phase{{name: "plane", objects: []stand{ready}}}
	revision := revisionOf(2, complete...)
	revision.Status = status.ForTarget(revision, observe(100, complete...))
	for second, s := range map[int64]stand{200: failing, 300: refused, 400: colliding, 500: ready} {
		revision.Generation++
		o := observe(second, phase{name: "plane", objects: []stand{s}})
		if s == refused {
			o.Err = errors.New("no")
		}
		revision.Status = status.ForTarget(revision, o)
		checkRevision(t, revision)
		if !revision.Status.SucceededAt.Equal(new(at(100))) || statustest.Text(revision.Status.Conditions, v1alpha1.ConditionSucceeded) != "True/RolloutSuccess: the revision was rolled out" {
			t.Errorf("after %s: succeeded at %v, %s", s, revision.Status.SucceededAt, statustest.Text(revision.Status.Conditions, v1alpha1.ConditionSucceeded))
		}
	}
}
