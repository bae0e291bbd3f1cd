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

// Change is what a write has changed of a revision.
type Change struct {
	// Package is the revision's.
	Package *v1alpha1.Package
	// Before and After are the revision with its statuses.
	Before, After *v1alpha1.Revision
	// Others are the other revisions of the package as they were before: an event that one of
	// them has recorded about an object is not recorded again by the revision that takes
	// the object over.
	Others []*v1alpha1.Revision
	// Removed is what became of the objects of a revision that is torn down.
	Removed []revisions.RemovedObject
}

// transition is a kind of change: the events that report it, and the metrics that count it.
type transition struct {
	events func(Change) []Event
	count  func(*Metrics, Change)
}

// transitions are all kinds of changes of revisions, in the order of their events.
var transitions = []transition{
	{events: Change.approval},
	{events: Change.phases, count: countPhases},
	{events: Change.success, count: countOutcome},
	{events: Change.stop, count: countCollisions},
	{events: Change.probes, count: countFailures},
	{events: Change.interference, count: countFlaps},
}

// Events are those that report the change. That a revision is archived is the last word on it.
func (c Change) Events() []Event {
	if c.Before.Status.ArchivedAt == nil && c.After.Status.ArchivedAt != nil {
		return append([]Event{archived(c.After)}, Retained(c.Package, c.After, c.Removed)...)
	}
	var list []Event
	for _, of := range transitions {
		list = append(list, of.events(c)...)
	}
	return list
}

// Moved counts a change that was written.
func (m *Metrics) Moved(c Change) {
	for _, of := range transitions {
		if of.count != nil {
			of.count(m, c)
		}
	}
}

// approval reports that a revision that waited for its approval is worked on.
func (c Change) approval() []Event {
	if reasonOf(c.Before) == v1alpha1.ReasonAwaitingApproval && !isStopped(c.After) && c.After.Status.LastProgressTime != nil {
		return []Event{approved(c.After)}
	}
	return nil
}

// success reports that the revision is rolled out.
func (c Change) success() []Event {
	if !history.Succeeded(c.Before) && history.Succeeded(c.After) {
		return []Event{succeeded(c.After)}
	}
	return nil
}

// stop reports that the rollout does not go on.
func (c Change) stop() []Event {
	now := conditionOf(c.After.Status.Conditions, v1alpha1.ConditionProgressing)
	switch event := history.ReasonOf(now.Reason).Event; {
	case now.Reason == reasonOf(c.Before):
		return nil
	case event != "":
		return []Event{halted(c.After, event, now.Message)}
	case now.Reason == v1alpha1.ReasonAwaitingApproval:
		return []Event{awaitingApproval(c.After, now.Message)}
	}
	return nil
}

// reasonOf is that of a revision's Progressing condition, empty when there is none.
func reasonOf(revision *v1alpha1.Revision) string {
	return conditionOf(revision.Status.Conditions, v1alpha1.ConditionProgressing).Reason
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// isStopped says that nothing is written for a revision on purpose. Its phases are
// then looked at all the same.
func isStopped(revision *v1alpha1.Revision) bool {
	return history.ReasonOf(reasonOf(revision)).IsStopped
}

// phases reports phases that are complete and those that have begun, as long as the
// revision is rolled out for the first time.
func (c Change) phases() []Event {
	before, after := c.Before, c.After
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

// probes reports probes that passed before and fail now, and workloads that are available
// again.
func (c Change) probes() []Event {
	before, after := c.Before, c.After
	was := conditionOf(before.Status.Conditions, v1alpha1.ConditionAvailable)
	is := conditionOf(after.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case was.Status == metav1.ConditionTrue && is.Status != metav1.ConditionTrue && is.Reason == v1alpha1.ReasonProbeFailed:
		return []Event{probeFailing(after, is.Message)}
	case history.Succeeded(before) && was.Reason == v1alpha1.ReasonProbeFailed && is.Status == metav1.ConditionTrue:
		return []Event{recovered(after)}
	}
	if all := c.failing(); len(all) > 0 {
		return []Event{probeFailing(after, all[0].Kind+" "+all[0].Name+": "+all[0].Message)}
	}
	return nil
}

// failing are the objects that no longer pass their probes, of phases that were
// complete before. An object that was already failing before gets no second event.
func (c Change) failing() []v1alpha1.ObjectStatus {
	complete := map[string]bool{}
	for _, phase := range c.Before.Status.Phases {
		complete[phase.Name] = phase.State == v1alpha1.PhaseComplete
	}
	all := c.newly(objectProbeFailed, objectProbeUnknown)
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
func (c Change) newly(reasons ...string) []v1alpha1.ObjectStatus {
	had := map[v1alpha1.ObjectReference]bool{}
	for _, object := range c.Before.Status.Objects {
		had[object.ObjectReference] = slices.Contains(reasons, object.Reason)
	}
	var list []v1alpha1.ObjectStatus
	for _, object := range c.After.Status.Objects {
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

// interference reports repairs, and objects that other managers keep changing.
func (c Change) interference() []Event {
	known := lastSeen(append(slices.Clip(c.Others), c.Before))
	var repaired, unsettled []v1alpha1.Interference
	for _, entry := range c.After.Status.Interference {
		old := known[placeOf(entry)]
		if entry.Count == old.Count && entry.LastSeen.Equal(&old.LastSeen) || entry.LastSeen.Before(&old.LastSeen) {
			continue
		}
		switch isNew := !entry.FirstSeen.Equal(&old.FirstSeen); {
		case entry.Cause == v1alpha1.InterferenceTakenOver:
			if isNew || old.Cause != entry.Cause || old.Manager != entry.Manager {
				unsettled = append(unsettled, entry) // it is not repaired
			}
		case entry.Count < revisions.ImmediateRepairs && entry.Cause != v1alpha1.InterferenceFlapping:
			repaired = append(repaired, entry)
		case entry.Count >= revisions.ImmediateRepairs && (old.Count < revisions.ImmediateRepairs || isNew):
			unsettled = append(unsettled, entry)
		}
	}
	var list []Event
	if len(repaired) > 0 {
		list = append(list, driftCorrected(c.After, repaired))
	}
	if len(unsettled) > 0 {
		list = append(list, interference(c.After, unsettled))
	}
	return list
}
