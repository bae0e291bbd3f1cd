// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Reason is what is known of a reason of the conditions of Packages and Revisions. Its meaning
// stands at its constant in api/v1alpha1.
type Reason struct {
	// Name is the reason.
	Name string
	// Conditions are the types of conditions that may have it, each with its status.
	Conditions map[string]metav1.ConditionStatus
	// Tone is how a state with the reason is shown.
	Tone Tone
	// IsTerminal is true for a reason of Progressing that waiting does not end.
	IsTerminal bool
	// IsEnd is true for a revision that is not rolled out any more, IsStopped for one that the
	// manager does not write on purpose.
	IsEnd, IsStopped bool
	// OnlyRevisions is true for a reason of Progressing that is no state of a package.
	OnlyRevisions bool
	// Event is the reason of the Warning event that reports it, empty for none.
	Event string
	// NextTry says when the manager tries again, empty for at least once a minute.
	NextTry string
}

// Tone is how a state is shown: in colours, for instance.
type Tone int

// The tones.
const (
	Bad Tone = iota
	Good
	Busy
	Plain
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown

	backoff = "by itself, after a second at first and after a minute at most"
)

func progressing(status metav1.ConditionStatus) map[string]metav1.ConditionStatus {
	return map[string]metav1.ConditionStatus{v1alpha1.ConditionProgressing: status}
}

func available(status metav1.ConditionStatus) map[string]metav1.ConditionStatus {
	return map[string]metav1.ConditionStatus{v1alpha1.ConditionAvailable: status}
}

func ready(status metav1.ConditionStatus) map[string]metav1.ConditionStatus {
	return map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: status}
}

// Reasons are all reasons of the conditions of Packages and Revisions, those of Progressing that
// a package may have first.
var Reasons = []Reason{
	{Name: v1alpha1.ReasonNoRevision, Conditions: map[string]metav1.ConditionStatus{
		v1alpha1.ConditionProgressing: no, v1alpha1.ConditionAvailable: no, v1alpha1.ConditionReady: no,
	}, Tone: Plain, NextTry: "as soon as there is a revision"},
	{Name: v1alpha1.ReasonRollingOut, Conditions: map[string]metav1.ConditionStatus{
		v1alpha1.ConditionProgressing: yes, v1alpha1.ConditionAvailable: no,
	}, Tone: Busy},
	{Name: v1alpha1.ReasonRolledOut, Conditions: progressing(no), Tone: Good},
	{Name: v1alpha1.ReasonAwaitingApproval, Conditions: progressing(no), Tone: Busy, IsStopped: true},
	{Name: v1alpha1.ReasonPreflightFailed, Conditions: progressing(no), IsTerminal: true, IsStopped: true, Event: "PreflightFailed", NextTry: backoff},
	{Name: v1alpha1.ReasonPermissionDenied, Conditions: progressing(no), IsTerminal: true, Event: "PermissionDenied", NextTry: backoff},
	{Name: v1alpha1.ReasonObjectCollisions, Conditions: progressing(no), IsTerminal: true, Event: "Collision"},
	{Name: v1alpha1.ReasonRolloutError, Conditions: progressing(no), Event: "RolloutError", NextTry: backoff},
	{
		Name: v1alpha1.ReasonObjectRefused, Conditions: progressing(no), IsTerminal: true, Event: "RolloutError",
		NextTry: "with the next revision; the same content is refused until a definition or an admission policy changes, and is retried after a minute at most",
	},
	{
		Name: v1alpha1.ReasonInvalidSpec, Conditions: progressing(no), IsTerminal: true, Event: "InvalidSpec",
		NextTry: "with the next revision: this one can never be rolled out",
	},
	{Name: v1alpha1.ReasonContentUnavailable, Conditions: progressing(no), Event: "ContentUnavailable", NextTry: backoff},
	{Name: v1alpha1.ReasonProgressDeadlineExceeded, Conditions: progressing(no), IsTerminal: true, Event: "DeadlineExceeded"},
	{Name: v1alpha1.ReasonRollbackRefused, Conditions: progressing(no)},
	{Name: v1alpha1.ReasonSuperseded, Conditions: progressing(no), Tone: Plain, IsEnd: true},
	{Name: v1alpha1.ReasonTearingDown, Conditions: map[string]metav1.ConditionStatus{
		v1alpha1.ConditionProgressing: yes, v1alpha1.ConditionAvailable: no, v1alpha1.ConditionReady: no,
	}, Tone: Busy},
	{Name: v1alpha1.ReasonTeardownStuck, Conditions: progressing(yes)},
	{Name: v1alpha1.ReasonPaused, Conditions: progressing(no), Tone: Busy, IsStopped: true},

	{Name: v1alpha1.ReasonArchiving, Conditions: progressing(yes), Tone: Busy, IsEnd: true, OnlyRevisions: true},
	{Name: v1alpha1.ReasonArchived, Conditions: map[string]metav1.ConditionStatus{
		v1alpha1.ConditionProgressing: no, v1alpha1.ConditionAvailable: no,
	}, Tone: Plain, IsEnd: true, OnlyRevisions: true},
	{Name: v1alpha1.ReasonPackageMissing, Conditions: map[string]metav1.ConditionStatus{
		v1alpha1.ConditionProgressing: no, v1alpha1.ConditionAvailable: no,
	}, OnlyRevisions: true},
	{Name: v1alpha1.ReasonProbesSucceeded, Conditions: available(yes)},
	{Name: v1alpha1.ReasonServing, Conditions: available(yes)},
	{Name: v1alpha1.ReasonProbeFailed, Conditions: available(no)},
	{Name: v1alpha1.ReasonUnknown, Conditions: available(unknown)},
	{Name: v1alpha1.ReasonRolloutSuccess, Conditions: map[string]metav1.ConditionStatus{v1alpha1.ConditionSucceeded: yes}},
	{Name: v1alpha1.ReasonReady, Conditions: ready(yes)},
	{Name: v1alpha1.ReasonRolledBack, Conditions: ready(yes)},
	{Name: v1alpha1.ReasonInterference, Conditions: ready(yes)},
	{Name: v1alpha1.ReasonRightsDiffer, Conditions: ready(no)},
	{Name: v1alpha1.ReasonNotReady, Conditions: ready(no)},
}

// ReasonOf is what is known of a reason: nothing but its name when it is none of [Reasons].
func ReasonOf(name string) Reason {
	for _, reason := range Reasons {
		if reason.Name == name {
			return reason
		}
	}
	return Reason{Name: name}
}
