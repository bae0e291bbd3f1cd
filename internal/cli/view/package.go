// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

// DigestOf is the digest of a revision's content, empty while it is not known.
func DigestOf(r *v1alpha1.Revision) string {
	if r.Status.Plan != nil {
		return cmp.Or(r.Spec.ContentDigest, r.Status.Plan.Digest)
	}
	return r.Spec.ContentDigest
}

// IsWithheld says whether a revision waits for approval.
func IsWithheld(r *v1alpha1.Revision) bool {
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionProgressing)
	return LifecycleOf(r) != v1alpha1.LifecycleArchived && (history.IsAwaiting(r) || c != nil && c.Reason == v1alpha1.ReasonAwaitingApproval)
}

// WritePending writes what a revision would do, one object a line, under its phase.
func WritePending(p *output.Printer, plan *v1alpha1.Plan) {
	p.Wrapped("", output.Plain, "It would do: "+plan.Summary)
	w := phased{Printer: p}
	for _, object := range plan.Objects {
		w.object(object.Phase, output.Span{Text: "    " + strings.ToLower(string(object.Action)), Style: plannedLook[object.Action].style},
			output.Span{Text: "  " + ObjectName(object.ObjectReference) + Prefixed("  ", object.Reason)})
	}
}

// SortRevisions sorts revisions by number.
func SortRevisions(revisions []v1alpha1.Revision) {
	slices.SortFunc(revisions, func(a, b v1alpha1.Revision) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
}

// PauseText says who paused, why, and until when.
func PauseText(pause *v1alpha1.Pause) string {
	text := "paused"
	if pause.By != "" {
		text += " by " + pause.By
	}
	text += ": " + pause.Reason
	if pause.Until != nil {
		text += ", until " + pause.Until.UTC().Format(time.RFC3339)
	}
	return text
}

// RevisionPause is the pause of a revision, nil when it has none of its own.
func RevisionPause(r *v1alpha1.Revision) *v1alpha1.Pause {
	if LifecycleOf(r) != v1alpha1.LifecyclePaused || history.IsAwaiting(r) {
		return nil
	}
	reason := r.Annotations[v1alpha1.AnnotationPauseReason]
	if reason == "" {
		reason = "no reason was given"
	}
	return &v1alpha1.Pause{By: r.Annotations[v1alpha1.AnnotationPausedBy], Reason: reason}
}

// PackageSummary is what the documents say about a package.
type PackageSummary struct {
	// Name is the Package's name.
	Name string `json:"name"`
	// Front is the front that made it, empty when none did.
	Front string `json:"front,omitempty"`
	// CurrentRevision is the newest revision that has succeeded, 0 when none has.
	CurrentRevision int64 `json:"currentRevision"`
	// TargetRevision is the revision that rolls out or has rolled out last, 0
	// when there is none.
	TargetRevision int64 `json:"targetRevision"`
	// Version is the application version of the current revision.
	Version string `json:"version,omitempty"`
	// State is the reason of the condition Progressing, as `kubectl get packages` shows
	// it, with two additions: TearingDown as soon as the Package is deleted, Pending
	// while the controller has not looked at it.
	State string `json:"state"`
	// RolledBack is true when the content of an earlier revision is rolled out.
	RolledBack bool `json:"rolledBack,omitempty"`
	// Interference is true while another client keeps changing or deleting what is
	// rolled out.
	Interference bool `json:"interference,omitempty"`
	// Message is that of the condition Progressing.
	Message string `json:"message,omitempty"`
	// Ready is the status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// Available is the status of the condition Available: True, False or Unknown.
	Available string `json:"available"`
	// AvailableMessage is the message of the condition Available.
	AvailableMessage string `json:"availableMessage,omitempty"`
	// Paused is who paused the package and why; unset when it is not paused.
	Paused *v1alpha1.Pause `json:"paused,omitempty"`
}

// RevisionSummary is what the documents say about a revision.
type RevisionSummary struct {
	// Revision is the number.
	Revision int64 `json:"revision"`
	// Name is the name of the Revision object.
	Name string `json:"name"`
	// Roles are the words current (the newest that has succeeded), target (the
	// one that rolls out), serving (older than the target, and still active) and
	// waiting (newer than the target, and withheld), as far as they apply.
	Roles []string `json:"roles,omitempty"`
	// Version is the application version.
	Version string `json:"version,omitempty"`
	// Lifecycle is Active, Paused or Archived.
	Lifecycle string `json:"lifecycle"`
	// Outcome is Succeeded, RolledBack (a rollback rejected it), Superseded
	// (archived before it had succeeded), Pending, or the reason of Progressing
	// while it is under way.
	Outcome string `json:"outcome"`
	// Succeeded is true once it was rolled out completely. It stays true.
	Succeeded bool `json:"succeeded"`
	// Message is that of the condition Progressing.
	Message string `json:"message,omitempty"`
	// Available is the status of the condition Available: True, False or Unknown.
	Available string `json:"available"`
	// Phase is how many phases are complete, of how many: "3/5".
	Phase string `json:"phase,omitempty"`
	// Probes is how many objects pass their probes, of how many: "11/12".
	Probes string `json:"probes,omitempty"`
	// CreatedAt is when the revision was made.
	CreatedAt metav1.Time `json:"createdAt"`
	// SucceededAt is when it had been rolled out.
	SucceededAt *metav1.Time `json:"succeededAt,omitempty"`
	// ArchivedAt is when its own objects were gone.
	ArchivedAt *metav1.Time `json:"archivedAt,omitempty"`
	// DurationSeconds is from createdAt to succeededAt; unset until then.
	DurationSeconds *int64 `json:"durationSeconds,omitempty"`
	// Origin is where the content comes from.
	Origin *v1alpha1.Origin `json:"origin,omitempty"`
	// RollbackFrom is the revision that was rolled back, for a revision that a
	// rollback made; else 0.
	RollbackFrom int64 `json:"rollbackFrom,omitempty"`
	// RollbackTo is the revision whose content is repeated, for a revision that a
	// rollback made; else 0.
	RollbackTo int64 `json:"rollbackTo,omitempty"`
	// ContentDigest is the digest of the content.
	ContentDigest string `json:"contentDigest,omitempty"`
}

// Words that are not reasons of the API.
const (
	statePending       = "Pending"
	outcomeSucceeded   = "Succeeded"
	outcomeRolledBack  = "RolledBack"
	outcomeSuperseded  = "Superseded"
	roleCurrent        = "current"
	roleTarget         = "target"
	roleServing        = "serving"
	roleWaiting        = "waiting"
	NotObservedMessage = "the controller has not processed it yet"
)

// SummarisePackage says what a Package is and does. Without its revisions, it
// reads its status alone.
func SummarisePackage(p *v1alpha1.Package, revisions []v1alpha1.Revision) PackageSummary {
	s := PackageSummary{
		Name:            p.Name,
		Front:           p.Labels[v1alpha1.LabelFront],
		CurrentRevision: p.Status.CurrentRevision,
		TargetRevision:  p.Status.TargetRevision,
		Version:         p.Status.Version,
		Ready:           statusOf(p.Status.Conditions, v1alpha1.ConditionReady),
		Available:       statusOf(p.Status.Conditions, v1alpha1.ConditionAvailable),
		Paused:          p.Spec.Paused,
	}
	// The revisions themselves are never behind; the Package's status may be.
	h := HistoryOf(p, revisions)
	if h.Target != nil {
		s.TargetRevision = h.Target.Spec.Revision
	}
	if h.Current != nil {
		s.CurrentRevision = h.Current.Spec.Revision
		s.Version = VersionOf(h.Current)
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAvailable); c != nil {
		s.AvailableMessage = c.Message
	}
	s.State, s.Message = PackageState(p)
	s.RolledBack = s.State == v1alpha1.ReasonRolledOut && rolledBack(p) != nil
	s.Interference = s.State == v1alpha1.ReasonRolledOut && disturbed(p) != nil
	if h.Target != nil && s.TargetRevision != p.Status.TargetRevision && p.DeletionTimestamp.IsZero() {
		s.State, s.Message, s.RolledBack = statePending, NotLookedAt(s.TargetRevision), false
	}
	return s
}

// HistoryOf sorts a package's revisions as the controller has sorted them: newer ones
// that are withheld do not take the place of one that is still being rolled out.
func HistoryOf(pkg *v1alpha1.Package, revisions []v1alpha1.Revision) history.History {
	h := history.Sort(pkg, revisions)
	if h.Target == nil || !IsWithheld(h.Target) {
		return h
	}
	for _, serving := range h.Serving {
		if serving.Spec.Revision == pkg.Status.TargetRevision {
			return h.Before(serving)
		}
	}
	return h
}

// NotLookedAt says that a revision is newer than what the controller has seen.
func NotLookedAt(revision int64) string {
	return fmt.Sprintf("the controller has not processed revision %d yet", revision)
}

// PackageState is a word for what the Package does, and its message.
func PackageState(p *v1alpha1.Package) (string, string) {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProgressing)
	switch {
	case !p.DeletionTimestamp.IsZero():
		if c != nil && (c.Reason == v1alpha1.ReasonTearingDown || c.Reason == v1alpha1.ReasonTeardownStuck ||
			c.Reason == v1alpha1.ReasonPermissionDenied && c.ObservedGeneration == p.Generation) {
			return c.Reason, c.Message
		}
		return v1alpha1.ReasonTearingDown, "the package is being deleted"
	case c == nil:
		return statePending, NotObservedMessage
	case c.Reason == v1alpha1.ReasonRolledOut && rolledBack(p) != nil:
		return c.Reason, rolledBack(p).Message
	case c.Reason == v1alpha1.ReasonRolledOut && disturbed(p) != nil:
		return c.Reason, disturbed(p).Message
	}
	return c.Reason, c.Message
}

// rolledBack is the condition that says that the content of an earlier revision runs, nil
// when it does not.
func rolledBack(p *v1alpha1.Package) *metav1.Condition {
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == v1alpha1.ReasonRolledBack {
		return ready
	}
	return nil
}

// disturbed is the condition that says that another client keeps changing or deleting what
// is rolled out, nil when none does.
func disturbed(p *v1alpha1.Package) *metav1.Condition {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonInterference && ready.Reason != v1alpha1.ReasonRightsDiffer {
		return nil
	}
	return ready
}

func statusOf(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

// SummariseRevision says what a revision is and how it went. All revisions of
// the package are needed to see which were rolled back.
func SummariseRevision(r *v1alpha1.Revision, all []v1alpha1.Revision, p PackageSummary) RevisionSummary {
	s := RevisionSummary{
		Revision:      r.Spec.Revision,
		Name:          r.Name,
		Lifecycle:     string(LifecycleOf(r)),
		Outcome:       OutcomeOf(r, all),
		Succeeded:     history.Succeeded(r),
		Available:     statusOf(r.Status.Conditions, v1alpha1.ConditionAvailable),
		Phase:         r.Status.Phase,
		Probes:        r.Status.Probes,
		CreatedAt:     r.CreationTimestamp,
		SucceededAt:   r.Status.SucceededAt,
		ArchivedAt:    r.Status.ArchivedAt,
		Origin:        r.Spec.Origin,
		ContentDigest: r.Spec.ContentDigest,
	}
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionProgressing); c != nil {
		s.Message = c.Message
	}
	if pause := RevisionPause(r); pause != nil {
		s.Message = "revision " + Number(s.Revision) + " is " + PauseText(pause)
	}
	s.Version = VersionOf(r)
	if r.Status.SucceededAt != nil {
		seconds := int64(r.Status.SucceededAt.Sub(r.CreationTimestamp.Time).Round(time.Second) / time.Second)
		s.DurationSeconds = &seconds
	}
	if history.IsRollback(r) {
		s.RollbackFrom, s.RollbackTo = r.Spec.Previous, RepeatedBy(r, all)
	}
	s.Roles = rolesOf(s, p)
	return s
}

// withRoles adds the roles to a name of the revision.
func (s *RevisionSummary) withRoles(name string) string {
	if len(s.Roles) == 0 {
		return name
	}
	return name + " (" + strings.Join(s.Roles, ", ") + ")"
}

func rolesOf(s RevisionSummary, p PackageSummary) []string {
	var roles []string
	if s.Revision == p.CurrentRevision {
		roles = append(roles, roleCurrent)
	}
	switch {
	case s.Revision == p.TargetRevision:
		roles = append(roles, roleTarget)
	case s.Revision < p.TargetRevision && s.Lifecycle != string(v1alpha1.LifecycleArchived):
		roles = append(roles, roleServing)
	case s.Revision > p.TargetRevision && s.Lifecycle != string(v1alpha1.LifecycleArchived):
		roles = append(roles, roleWaiting)
	}
	return roles
}

// VersionOf is the application version of a revision's content.
func VersionOf(r *v1alpha1.Revision) string {
	if r.Spec.Origin == nil {
		return ""
	}
	return r.Spec.Origin.AppVersion
}

// LifecycleOf is the lifecycle state of a revision, Active by default.
func LifecycleOf(r *v1alpha1.Revision) v1alpha1.LifecycleState {
	if r.Spec.LifecycleState == "" {
		return v1alpha1.LifecycleActive
	}
	return r.Spec.LifecycleState
}

// OutcomeOf is one word for how a revision went.
func OutcomeOf(r *v1alpha1.Revision, all []v1alpha1.Revision) string {
	for i := range all {
		if history.IsRollback(&all[i]) && all[i].Spec.Previous == r.Spec.Revision {
			return outcomeRolledBack
		}
	}
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionProgressing)
	switch {
	case LifecycleOf(r) == v1alpha1.LifecycleArchived && !history.Succeeded(r):
		return outcomeSuperseded
	case history.Succeeded(r):
		return outcomeSucceeded
	case LifecycleOf(r) == v1alpha1.LifecyclePaused:
		return v1alpha1.ReasonPaused
	case c == nil:
		return statePending
	}
	return c.Reason
}

// RepeatedBy is the number of the revision whose content a rollback repeats: the
// one that its origin names, else the newest older one with the same content, 0
// when neither is known.
func RepeatedBy(r *v1alpha1.Revision, all []v1alpha1.Revision) int64 {
	if number, known := history.SourceOf(r); known {
		return number
	}
	for i := len(all) - 1; i >= 0; i-- {
		older := &all[i]
		if older.Spec.Revision < r.Spec.Revision && r.Spec.ContentDigest != "" && older.Spec.ContentDigest == r.Spec.ContentDigest {
			return older.Spec.Revision
		}
	}
	return 0
}

// Number is a revision's number for people, nothing for 0.
func Number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Age is how long ago a time was, nothing for no time.
func Age(now time.Time, t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}
