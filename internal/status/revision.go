// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// Observation is what a pass has found about the target of a package.
type Observation struct {
	// Loaded is the revision as the engine had it; empty when it could not be loaded.
	Loaded revisions.Revision
	// Result is what the engine found.
	Result revisions.RevisionResult
	// Serves says whether the workloads are available.
	Serves probes.Result
	// Err is what kept the pass from being complete.
	Err error
	// Pause is why nothing was written, nil when it was not paused.
	Pause *v1alpha1.Pause
	// Unapproved says which approval the revision waits for before it may begin, empty when
	// it may begin.
	Unapproved string
	// Digest is that of the content, also when it does not stand in the spec.
	Digest string
	// Serving are the older active revisions as the engine had them.
	Serving []revisions.Revision
	// NoRollback says why a rollout that has missed its deadline is not rolled back although
	// the package asks for that; empty when there is nothing to say.
	NoRollback string
	// Now is the time of the pass.
	Now metav1.Time
	// Deadline is how long a rollout may go without progress. 0 means for ever.
	Deadline time.Duration
	// Soak is how long all probes must hold before the revision has succeeded.
	Soak time.Duration
}

// isStopped says that nothing was written for the revision on purpose.
func (o Observation) isStopped() bool { return o.Pause != nil || o.Unapproved != "" }

// ForTarget is the status of the revision that is rolled out.
func ForTarget(revision *v1alpha1.Revision, o Observation) v1alpha1.RevisionStatus {
	next := *revision.Status.DeepCopy()
	next.ObservedGeneration = revision.Generation
	succeeded := meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionSucceeded)
	resumed := !o.isStopped() && revision.Status.LastProgressTime == nil
	if lookedAt(revision, o) {
		next.Phases = phases(revision.Status.Phases, o, succeeded, resumed)
		next.Objects = notReady(revision.Status.Objects, o)
		setDue(next.Objects, revision.Status.Objects, o, succeeded)
		next.Flaps = flaps(revision.Status, o.Result, o.Now)
		next.Phase, next.Probes = counts(o.Result)
		next.Plan = plan(o)
		if !o.isStopped() {
			// What was only looked at is not the revision's yet.
			next.Inventory = inventory(o.Loaded, o.Result.Records, revision.Status.Inventory)
			if !succeeded {
				markReady(revision.Status.Inventory, next.Inventory, o.Result)
			}
			next.Interference = interference(o.Loaded, o.Result.Records, flapping(revision.Status, o.Now, next.Flaps))
		}
	}
	// While it is stopped no time counts: deadline and soak start anew after that.
	switch {
	case o.isStopped():
		next.LastProgressTime = nil
	case resumed, progressed(revision.Status.Inventory, next.Inventory):
		next.LastProgressTime = &o.Now
	}
	Set(revision.Generation, o.Now, &next.Conditions, targetConditions(revision, next, o, succeeded)...)
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionSucceeded) {
		next.SucceededAt = cmp.Or(next.SucceededAt, &o.Now)
		for i := range next.Inventory {
			next.Inventory[i].WasReady = false
		}
	}
	return next
}

// lookedAt says whether the pass has looked at the revision's objects. What could
// not be loaded, or was stopped before its first object, could not be looked at:
// what was found before stays.
func lookedAt(revision *v1alpha1.Revision, o Observation) bool {
	if o.Loaded.Phases == nil {
		return false
	}
	reached := slices.ContainsFunc(o.Result.Phases, func(p revisions.PhaseResult) bool { return p.Reached })
	return reached || o.Err == nil || revision.Status.Phases == nil
}

// ForOrphan is the status of a revision whose package does not exist.
func ForOrphan(revision *v1alpha1.Revision, now metav1.Time) v1alpha1.RevisionStatus {
	next := *revision.Status.DeepCopy()
	next.ObservedGeneration = revision.Generation
	message := fmt.Sprintf("package %s does not exist: create it, or delete the revision", revision.Spec.Package)
	Set(revision.Generation, now, &next.Conditions,
		Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonPackageMissing, message),
		Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonPackageMissing, message))
	return next
}

// ForServing is the status of an older active revision: its own rollout is over,
// and what it has in place is kept. The error is what kept it from being loaded.
func ForServing(revision *v1alpha1.Revision, loaded revisions.Revision, result revisions.RevisionResult, serves probes.Result, err error, now metav1.Time) v1alpha1.RevisionStatus {
	next := *revision.Status.DeepCopy()
	next.ObservedGeneration = revision.Generation
	next.Inventory = inventory(loaded, result.Records, revision.Status.Inventory)
	next.Plan = nil
	progress := Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonRolledOut, "revision "+Describe(revision)+" is rolled out")
	availability := available(serves, v1alpha1.ReasonProbeFailed)
	succeeded := history.Succeeded(revision)
	if !succeeded {
		progress.Reason, progress.Message = v1alpha1.ReasonSuperseded, "a newer revision is rolled out instead; this one is archived when that has succeeded"
		availability = notAvailableYet()
	}
	if revision.Spec.LifecycleState == v1alpha1.LifecyclePaused {
		progress.Reason, progress.Message = v1alpha1.ReasonPaused, PausedRevision(revision)+": nothing of it is repaired"
	}
	switch {
	case err != nil:
		progress.Reason, progress.Message = errorReason(err), err.Error()
		if succeeded {
			availability = available(probes.Result{Status: probes.Unknown, Message: err.Error()}, "")
		}
	case succeeded:
		next.Objects = notReady(revision.Status.Objects, Observation{Result: result, Now: now})
		next.Flaps = flaps(revision.Status, result, now)
	default:
		next.Objects = nil
	}
	next.Interference = interference(loaded, result.Records, flapping(revision.Status, now, next.Flaps))
	Set(revision.Generation, now, &next.Conditions, progress, availability)
	return next
}

// ForArchiving is the status of a revision whose own objects are being deleted.
func ForArchiving(revision *v1alpha1.Revision, result revisions.TeardownResult, err error, now metav1.Time) v1alpha1.RevisionStatus {
	next := *revision.Status.DeepCopy()
	next.ObservedGeneration = revision.Generation
	if history.Succeeded(revision) {
		// Its probes are those of its time, not of what came after it.
		next.Phases, next.Phase, next.Probes = achieved(revision.Status.Phases)
	}
	gone := Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonArchived, "the revision is history")
	if result.Complete && err == nil {
		next.ArchivedAt, next.Objects, next.Inventory = &now, nil, nil
		Set(revision.Generation, now, &next.Conditions, gone,
			Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonArchived, "the revision is history"))
		return next
	}
	next.Objects = removing(revision.Status.Objects, result, now)
	Set(revision.Generation, now, &next.Conditions, gone,
		Condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonArchiving, teardownMessage(result, err)))
	return next
}

// ForWaiting is the status of a revision that waits for approval while an older one is
// still being rolled out.
func ForWaiting(revision *v1alpha1.Revision, why string, target int64, now metav1.Time) v1alpha1.RevisionStatus {
	next := *revision.Status.DeepCopy()
	next.ObservedGeneration = revision.Generation
	next.LastProgressTime, next.Plan = nil, nil
	message := fmt.Sprintf("%s; what it would do is worked out when revision %d is rolled out", why, target)
	Set(revision.Generation, now, &next.Conditions,
		Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval, message), notAvailableYet())
	return next
}

func notAvailableYet() metav1.Condition {
	return Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonRollingOut, "the revision has not been rolled out completely")
}

func targetConditions(revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, o Observation, succeeded bool) []metav1.Condition {
	complete := isComplete(revision, o)
	// What is stopped has not been rolled out, even if every object that it has is in
	// place: others may have to go.
	soaked := complete && !o.isStopped() && SoakLeft(next, o.Soak, o.Now.Time) <= 0
	conditions := []metav1.Condition{progressing(revision, next, o, complete, succeeded || soaked)}
	if soaked && !succeeded {
		conditions = append(conditions, Condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonRolloutSuccess, "the revision was rolled out"))
	}
	switch {
	case complete && o.Unapproved == "":
		return append(conditions, Condition(v1alpha1.ConditionAvailable, metav1.ConditionTrue, v1alpha1.ReasonProbesSucceeded, "every object is in place and every probe is true"))
	case succeeded:
		return append(conditions, available(o.Serves, v1alpha1.ReasonProbeFailed))
	default:
		return append(conditions, notAvailableYet())
	}
}

// isComplete says that every object is in place with its probe True. An error is
// then about what older revisions have in place, and must not delay the one that
// replaces them.
func isComplete(revision *v1alpha1.Revision, o Observation) bool {
	if len(revision.Spec.Phases) == 0 {
		return o.Err == nil
	}
	return len(o.Result.Phases) == len(revision.Spec.Phases) && o.Result.Complete()
}

func progressing(revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, o Observation, complete, rolledOut bool) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, reason, message)
	}
	reason := errorReason(o.Err)
	switch {
	case reason == v1alpha1.ReasonInvalidSpec, reason == v1alpha1.ReasonContentUnavailable:
		return no(reason, o.Err.Error()+clause(o.NoRollback))
	case o.Pause != nil:
		return no(v1alpha1.ReasonPaused, pauseMessage(o.Pause))
	case o.Unapproved != "":
		return no(v1alpha1.ReasonAwaitingApproval, awaitingMessage(o.Unapproved, next.Plan))
	}
	if collision := firstWith(next.Objects, ReasonCollision); collision != nil {
		return no(v1alpha1.ReasonObjectCollisions, sentence(*collision)+clause(o.NoRollback))
	}
	if o.Err != nil && !complete && reason == v1alpha1.ReasonRolloutError && isRefused(o.Err) {
		refused := no(v1alpha1.ReasonObjectRefused, errorMessage(o.Err)+clause(o.NoRollback))
		if before := meta.FindStatusCondition(revision.Status.Conditions, refused.Type); before != nil && before.Reason == refused.Reason {
			refused.Message = steady(before.Message, Bounded(refused.Message))
		}
		return refused
	}
	if o.Err != nil && !complete {
		return no(reason, errorMessage(o.Err)+clause(o.NoRollback))
	}
	if rolledOut {
		return no(v1alpha1.ReasonRolledOut, "revision "+Describe(revision)+" is rolled out"+deletedText(revision))
	}
	message := waitingFor(next, o)
	if !complete && IsOverdue(next, o.Deadline, o.Now.Time) {
		return no(v1alpha1.ReasonProgressDeadlineExceeded, overdueText(next, o, message)+clause(o.NoRollback))
	}
	return Condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonRollingOut, message)
}

// waitingFor says which phase is being rolled out and what it waits for.
func waitingFor(next v1alpha1.RevisionStatus, o Observation) string {
	for i, phase := range next.Phases {
		if phase.State == v1alpha1.PhaseComplete {
			continue
		}
		where := fmt.Sprintf("phase %d/%d %s", i+1, len(next.Phases), phase.Name)
		for _, object := range next.Objects {
			if object.Phase == phase.Name {
				return where + " waits for " + sentence(object)
			}
		}
		return where
	}
	return "every phase is complete, and has to stay so for " + o.Soak.String() + " (soak)"
}

// SoakLeft is how long the probes still have to hold before the revision has
// succeeded; 0 or less when they have.
func SoakLeft(next v1alpha1.RevisionStatus, soak time.Duration, now time.Time) time.Duration {
	latest := time.Time{}
	for _, phase := range next.Phases {
		if phase.CompletedAt == nil {
			return soak
		}
		if phase.CompletedAt.After(latest) {
			latest = phase.CompletedAt.Time
		}
	}
	if latest.IsZero() {
		return 0
	}
	return soak - max(now.Sub(latest), 0) // a clock may have been set back
}

// IsOverdue says whether a rollout has gone without progress for longer than the
// deadline, of which 0 means for ever, or an object was not ready in time. Time in
// which it was stopped does not count.
func IsOverdue(status v1alpha1.RevisionStatus, deadline time.Duration, now time.Time) bool {
	return overdue(status, now) != nil || deadline > 0 && status.LastProgressTime != nil && DeadlineLeft(status, deadline, now) <= 0
}

// DeadlineLeft is how long the rollout may still go without progress.
func DeadlineLeft(status v1alpha1.RevisionStatus, deadline time.Duration, now time.Time) time.Duration {
	if status.LastProgressTime == nil {
		return deadline
	}
	return deadline - max(now.Sub(status.LastProgressTime.Time), 0) // a clock may have been set back
}

// markReady marks what has been ready with the content that it has.
func markReady(before, after []v1alpha1.InventoryEntry, result revisions.RevisionResult) {
	ready := map[v1alpha1.ObjectReference]bool{}
	for _, phase := range result.Phases {
		for _, object := range phase.Objects {
			ready[reference(object.ID, object.Version)] = object.Ready()
		}
	}
	entries := byReference(before)
	for i := range after {
		was := entries[after[i].ObjectReference]
		after[i].WasReady = ready[after[i].ObjectReference] || was.WasReady && was.Content == after[i].Content
	}
}

// progressed says whether the rollout has moved on: an object is in place for the first
// time, or with other content, or it is ready for the first time with its content. One that
// was repaired is no progress, nor is one that is ready again.
func progressed(before, after []v1alpha1.InventoryEntry) bool {
	entries := byReference(before)
	return slices.ContainsFunc(after, func(entry v1alpha1.InventoryEntry) bool {
		was, found := entries[entry.ObjectReference]
		isNew := !found || was.Content != entry.Content
		return isNew && entry.Repairs == 0 || entry.WasReady && (isNew || !was.WasReady)
	})
}

func byReference(list []v1alpha1.InventoryEntry) map[v1alpha1.ObjectReference]v1alpha1.InventoryEntry {
	entries := map[v1alpha1.ObjectReference]v1alpha1.InventoryEntry{}
	for _, entry := range list {
		entries[entry.ObjectReference] = entry
	}
	return entries
}

func available(serves probes.Result, reason string) metav1.Condition {
	switch serves.Status {
	case probes.True:
		return Condition(v1alpha1.ConditionAvailable, metav1.ConditionTrue, v1alpha1.ReasonProbesSucceeded, "the operand serves")
	case probes.False:
		return Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, reason, cmp.Or(serves.Message, "an object does not serve"))
	default:
		return Condition(v1alpha1.ConditionAvailable, metav1.ConditionUnknown, v1alpha1.ReasonUnknown, cmp.Or(serves.Message, "the objects could not be checked"))
	}
}
