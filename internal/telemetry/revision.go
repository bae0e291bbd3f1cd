// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// ForRevision are the events about what has changed from one status of a revision to
// the next. The other revisions of its line are as they were before: an event that one
// of them has recorded about an object is not recorded again by the revision that takes
// the object over.
func ForRevision(before, after *v1alpha1.Revision, others ...*v1alpha1.Revision) []Event {
	if before.Status.ArchivedAt == nil && after.Status.ArchivedAt != nil {
		return []Event{archived(after)}
	}
	var list []Event
	if approvedBetween(before, after) {
		list = append(list, approved(after))
	}
	list = append(list, ofPhases(before, after)...)
	if !history.Succeeded(before) && history.Succeeded(after) {
		list = append(list, succeeded(after))
	}
	if reason, message, changed := progressing(before, after); changed {
		switch event := history.ReasonOf(reason).Event; {
		case event != "":
			list = append(list, halted(after, event, message))
		case reason == v1alpha1.ReasonAwaitingApproval:
			list = append(list, awaitingApproval(after, message))
		}
	}
	return append(append(list, ofProbes(before, after)...), ofRivals(append(others, before), after)...)
}

// reasonOf is that of a revision's Progressing condition, empty when there is none.
func reasonOf(revision *v1alpha1.Revision) string {
	return conditionOf(revision.Status.Conditions, v1alpha1.ConditionProgressing).Reason
}

func progressing(before, after *v1alpha1.Revision) (reason, message string, changed bool) {
	now := conditionOf(after.Status.Conditions, v1alpha1.ConditionProgressing)
	return now.Reason, now.Message, now.Reason != reasonOf(before)
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// approvedBetween says that a revision that waited is worked on.
func approvedBetween(before, after *v1alpha1.Revision) bool {
	if reasonOf(before) != v1alpha1.ReasonAwaitingApproval {
		return false
	}
	return !isStopped(after) && after.Status.LastProgressTime != nil
}

// isStopped says that nothing is written for a revision on purpose. Its phases are
// then looked at all the same.
func isStopped(revision *v1alpha1.Revision) bool {
	return history.ReasonOf(reasonOf(revision)).IsStopped
}

// ofPhases are the events about phases that are complete and about those that have
// begun, as long as the revision is rolled out for the first time.
func ofPhases(before, after *v1alpha1.Revision) []Event {
	if history.Succeeded(before) || isStopped(after) {
		return nil
	}
	known := map[string]v1alpha1.PhaseState{}
	for _, phase := range before.Status.Phases {
		known[phase.Name] = phase.State
		if phase.State == v1alpha1.PhaseProgressing && isStopped(before) {
			known[phase.Name] = v1alpha1.PhasePending
		}
	}
	var completed []string
	var list []Event
	for i, phase := range after.Status.Phases {
		switch {
		case phase.State == known[phase.Name]:
		case phase.State == v1alpha1.PhaseComplete:
			completed = append(completed, phase.Name)
		case phase.State == v1alpha1.PhaseProgressing && known[phase.Name] != v1alpha1.PhaseComplete:
			list = append(list, phaseStarted(after, i))
		}
	}
	if len(completed) > 0 && !history.Succeeded(after) {
		list = append([]Event{phaseCompleted(after, completed)}, list...)
	}
	return list
}

// ofProbes are the events about probes that passed before and fail now, and about
// workloads that are available again.
func ofProbes(before, after *v1alpha1.Revision) []Event {
	was := conditionOf(before.Status.Conditions, v1alpha1.ConditionAvailable)
	is := conditionOf(after.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case was.Status == metav1.ConditionTrue && is.Status != metav1.ConditionTrue && is.Reason == v1alpha1.ReasonProbeFailed:
		return []Event{probeFailing(after, is.Message)}
	case history.Succeeded(before) && was.Reason == v1alpha1.ReasonProbeFailed && is.Status == metav1.ConditionTrue:
		return []Event{recovered(after)}
	}
	if all := failing(before, after); len(all) > 0 {
		return []Event{probeFailing(after, all[0].Kind+" "+all[0].Name+": "+all[0].Message)}
	}
	return nil
}

// failing are the objects that no longer pass their probes, of phases that were
// complete before. An object that was already failing before gets no second event.
func failing(before, after *v1alpha1.Revision) []v1alpha1.ObjectStatus {
	complete := map[string]bool{}
	for _, phase := range before.Status.Phases {
		complete[phase.Name] = phase.State == v1alpha1.PhaseComplete
	}
	all := newly(before, after, objectProbeFailed, objectProbeUnknown)
	return slices.DeleteFunc(all, func(object v1alpha1.ObjectStatus) bool { return !complete[object.Phase] })
}

// The reasons of an object that events and metrics distinguish; package status has all of them.
const (
	objectCollision    = "Collision"
	objectDeleting     = "Deleting"
	objectProbeFailed  = "ProbeFailed"
	objectProbeUnknown = "ProbeUnknown"
)

// newly are the objects that have one of the reasons after a change, and had none of them before.
func newly(before, after *v1alpha1.Revision, reasons ...string) []v1alpha1.ObjectStatus {
	had := map[v1alpha1.ObjectReference]bool{}
	for _, object := range before.Status.Objects {
		had[object.ObjectReference] = slices.Contains(reasons, object.Reason)
	}
	var list []v1alpha1.ObjectStatus
	for _, object := range after.Status.Objects {
		if slices.Contains(reasons, object.Reason) && !had[object.ObjectReference] {
			list = append(list, object)
		}
	}
	return list
}

// place is what an entry of the list is about.
type place struct {
	v1alpha1.ObjectReference

	flaps bool
}

func placeOf(entry v1alpha1.Interference) place {
	return place{entry.ObjectReference, entry.Cause == v1alpha1.InterferenceFlapping}
}

// lastSeen is what revisions list of each object, the latest entry each.
func lastSeen(all []*v1alpha1.Revision) map[place]v1alpha1.Interference {
	latest := map[place]v1alpha1.Interference{}
	for _, revision := range all {
		for _, entry := range revision.Status.Interference {
			if old, ok := latest[placeOf(entry)]; !ok || old.LastSeen.Before(&entry.LastSeen) {
				latest[placeOf(entry)] = entry
			}
		}
	}
	return latest
}

// ofRivals are the events about repairs, and about objects that other managers keep changing.
func ofRivals(before []*v1alpha1.Revision, after *v1alpha1.Revision) []Event {
	known := lastSeen(before)
	var repaired, fought []v1alpha1.Interference
	for _, entry := range after.Status.Interference {
		old := known[placeOf(entry)]
		if entry.Count == old.Count && entry.LastSeen.Equal(&old.LastSeen) || entry.LastSeen.Before(&old.LastSeen) {
			continue
		}
		switch isNew := !entry.FirstSeen.Equal(&old.FirstSeen); {
		case entry.Cause == v1alpha1.InterferenceTakenOver:
			if isNew || old.Cause != entry.Cause || old.Manager != entry.Manager {
				fought = append(fought, entry) // it is not repaired
			}
		case entry.Count < revisions.ImmediateRepairs && entry.Cause != v1alpha1.InterferenceFlapping:
			repaired = append(repaired, entry)
		case entry.Count >= revisions.ImmediateRepairs && (old.Count < revisions.ImmediateRepairs || isNew):
			fought = append(fought, entry)
		}
	}
	var list []Event
	if len(repaired) > 0 {
		list = append(list, driftCorrected(after, repaired))
	}
	if len(fought) > 0 {
		list = append(list, interference(after, fought))
	}
	return list
}
