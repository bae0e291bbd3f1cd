// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

const (
	// objectMessageLimit bounds what is said of one object, in bytes.
	objectMessageLimit = 1024
	// conditionMessageLimit bounds a condition's message, in bytes; the API server
	// takes 32,768.
	conditionMessageLimit = 16 << 10
)

// Condition is a condition whose time and generation [Set] sets.
func Condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Set sets conditions; the time of a transition moves only when the status does.
func Set(generation int64, now metav1.Time, conditions *[]metav1.Condition, wanted ...metav1.Condition) {
	for _, c := range wanted {
		c.ObservedGeneration = generation
		c.Message = Bounded(c.Message)
		c.LastTransitionTime = now
		meta.SetStatusCondition(conditions, c)
	}
}

// Bounded cuts a text to what fits into the message of a condition, and says so.
func Bounded(text string) string { return bound(text, conditionMessageLimit) }

// bound cuts a text to a number of bytes, between characters, and says so.
func bound(text string, limit int) string {
	return probes.Cut(strings.ToValidUTF8(text, "?"), limit, " (cut)")
}

// sentence names an object and says why it is not ready, and what to do.
func sentence(object v1alpha1.ObjectStatus) string {
	text := objectText(object.ObjectReference) + ": " + object.Message
	if object.Hint != "" {
		text += ": " + object.Hint
	}
	return text
}

func objectText(ref v1alpha1.ObjectReference) string {
	if ref.Namespace != "" {
		return ref.Kind + " " + ref.Namespace + "/" + ref.Name
	}
	return ref.Kind + " " + ref.Name
}

// Describe is the number of a revision, with its version if that is known.
func Describe(revision *v1alpha1.Revision) string {
	text := v1alpha1.RevisionName("", revision.Spec.Revision)[1:]
	if version := VersionOf(revision); version != "" {
		text += " (" + version + ")"
	}
	return text
}

// VersionOf is the version that a revision was made from, empty when it is not known.
func VersionOf(revision *v1alpha1.Revision) string {
	if revision == nil || revision.Spec.Origin == nil {
		return ""
	}
	return revision.Spec.Origin.AppVersion
}

func pauseMessage(pause *v1alpha1.Pause) string {
	return "paused by " + cmp.Or(pause.By, "an unnamed user") + ": " + pause.Reason
}

// awaitingMessage says what is waited for, and what would be done then.
func awaitingMessage(why string, plan *v1alpha1.Plan) string {
	if plan != nil {
		why += "; it would do: " + plan.Summary
	}
	return why
}

// PausedRevision says that a revision is paused by its own lifecycle state.
func PausedRevision(revision *v1alpha1.Revision) string {
	return "spec.lifecycleState of revision " + revision.Name + " is Paused"
}

func clause(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}

// deletedText is about a revision that was deleted and is what runs.
func deletedText(revision *v1alpha1.Revision) string {
	if revision.DeletionTimestamp.IsZero() {
		return ""
	}
	return "; it was deleted, and is kept until another revision has taken over, since it is what runs: delete the package to take the operand away"
}

func teardownMessage(result revisions.TeardownResult, err error) string {
	if waiting := result.Waiting(); len(waiting) > 0 {
		text := "waits for " + waiting[0].ID.String() + " of phase " + waiting[0].Phase
		if message := cmp.Or(waiting[0].Message, errorText(waiting[0].Err)); message != "" {
			text += ": " + message
		}
		return text
	}
	if err != nil {
		return err.Error()
	}
	return "objects that no newer revision contains are deleted, in reverse phase order"
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
