// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// Reasons of an object that is not ready.
const (
	ReasonCollision    = "Collision"
	ReasonApplyError   = "ApplyError"
	ReasonInterference = "Interference"
	ReasonWaiting      = "Waiting"
	ReasonProbeFailed  = "ProbeFailed"
	ReasonProbeUnknown = "ProbeUnknown"
	ReasonDeleting     = "Deleting"
)

// MostObjects bounds the list of objects that are not ready.
const MostObjects = 16

// phases are the states of a revision's phases. Before it has succeeded, the time
// of completion is that of the present stretch, as the soak counts from it; a
// stretch starts anew when the revision is resumed.
func phases(before []v1alpha1.PhaseStatus, o Observation, succeeded, resumed bool) []v1alpha1.PhaseStatus {
	completedAt := map[string]*metav1.Time{}
	for _, phase := range before {
		if succeeded || !resumed {
			completedAt[phase.Name] = phase.CompletedAt
		}
	}
	var states []v1alpha1.PhaseStatus
	for _, phase := range o.Result.Phases {
		state := v1alpha1.PhaseStatus{Name: phase.Name, State: v1alpha1.PhasePending, Objects: int32(phase.Size), Ready: int32(phase.Ready())}
		switch {
		case phase.Complete():
			state.State, state.CompletedAt = v1alpha1.PhaseComplete, completedAt[phase.Name]
			if state.CompletedAt == nil {
				state.CompletedAt = &o.Now
			}
		case phase.Reached:
			state.State = v1alpha1.PhaseProgressing
			if succeeded {
				state.CompletedAt = completedAt[phase.Name]
			}
		}
		states = append(states, state)
	}
	return states
}

// counts are the complete phases and the passing objects, of how many.
func counts(result revisions.RevisionResult) (phase, probed string) {
	complete, ready, all := 0, 0, 0
	for _, p := range result.Phases {
		if p.Complete() {
			complete++
		}
		ready += p.Ready()
		all += p.Size
	}
	return fmt.Sprintf("%d/%d", complete, len(result.Phases)), fmt.Sprintf("%d/%d", ready, all)
}

// achieved are the phases of a revision that has succeeded, as they were then.
func achieved(phases []v1alpha1.PhaseStatus) (complete []v1alpha1.PhaseStatus, phase, probed string) {
	all := int32(0)
	for _, state := range phases {
		state.State, state.Ready = v1alpha1.PhaseComplete, state.Objects
		complete = append(complete, state)
		all += state.Objects
	}
	return complete, fmt.Sprintf("%d/%d", len(phases), len(phases)), fmt.Sprintf("%d/%d", all, all)
}

// notReady lists the first objects that delay the rollout. An object keeps the
// time since when it does while the reason stays.
func notReady(before []v1alpha1.ObjectStatus, o Observation) []v1alpha1.ObjectStatus {
	var list []v1alpha1.ObjectStatus
	for _, phase := range o.Result.Phases {
		for _, object := range phase.Objects {
			if object.Ready() || len(list) == MostObjects {
				continue
			}
			entry := explain(object)
			entry.Phase = phase.Name
			list = append(list, since(before, entry, o.Now))
		}
	}
	return list
}

// explain says why an object is not ready.
func explain(object revisions.ObjectResult) v1alpha1.ObjectStatus {
	entry := v1alpha1.ObjectStatus{ObjectReference: reference(object.ID, object.Version)}
	switch {
	case object.Err != nil:
		entry.Reason, entry.Message = ReasonApplyError, object.Err.Error()
	case object.Action == revisions.ActionCollision:
		entry.Reason, entry.Message, entry.Hint = ReasonCollision, object.Reason, object.Remedy
	case object.Waiting != "" && object.Backoff != nil:
		entry.Reason, entry.Message, entry.Hint = ReasonInterference, object.Waiting, interferenceHint(object.Backoff.Cause)
	case object.Waiting != "":
		entry.Reason, entry.Message = ReasonWaiting, object.Waiting
	case object.Probe.Status == probes.False:
		entry.Reason, entry.Message = ReasonProbeFailed, object.Probe.Message
	default:
		entry.Reason, entry.Message = ReasonProbeUnknown, object.Probe.Message
	}
	entry.Message = cmp.Or(entry.Message, "its probe gives no details")
	entry.Message = bound(entry.Message, objectMessageLimit)
	return entry
}

// interferenceHint is what to do about an object that does not stay as it was left.
func interferenceHint(cause revisions.DriftCause) string {
	if cause == revisions.DriftDeleted {
		return "find out from the audit log of the API server which client deletes it, and stop that, or remove the object from the revision"
	}
	return "stop that manager, or leave the fields to it with unmanagedFields"
}

// removing lists the objects that a teardown waits for.
func removing(before []v1alpha1.ObjectStatus, result revisions.TeardownResult, now metav1.Time) []v1alpha1.ObjectStatus {
	var list []v1alpha1.ObjectStatus
	for _, object := range result.Waiting() {
		if len(list) == MostObjects {
			break
		}
		entry := v1alpha1.ObjectStatus{ObjectReference: reference(object.ID, "-"), Phase: object.Phase, Reason: ReasonDeleting, Message: object.Message}
		if object.Err != nil {
			entry.Message = object.Err.Error()
		}
		entry.Message = bound(entry.Message, objectMessageLimit)
		list = append(list, since(before, entry, now))
	}
	return list
}

func since(before []v1alpha1.ObjectStatus, entry v1alpha1.ObjectStatus, now metav1.Time) v1alpha1.ObjectStatus {
	entry.Since = now
	for _, old := range before {
		if old.ObjectReference == entry.ObjectReference && old.Reason == entry.Reason {
			entry.Since = old.Since
			if entry.Reason == ReasonApplyError {
				entry.Message = steady(old.Message, entry.Message)
			}
		}
	}
	return entry
}

// inventory lists what a revision has put in place, in the order of its phases.
// A revision that could not be loaded keeps the inventory that it had.
func inventory(loaded revisions.Revision, records map[revisions.ObjectID]revisions.Record, before []v1alpha1.InventoryEntry) []v1alpha1.InventoryEntry {
	if loaded.Phases == nil {
		return before
	}
	var list []v1alpha1.InventoryEntry
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			id := revisions.IDOf(object.Manifest)
			record, placed := records[id]
			if !placed {
				continue
			}
			entry := v1alpha1.InventoryEntry{
				ObjectReference: reference(id, object.Manifest.GroupVersionKind().Version),
				UID:             string(record.UID), Action: string(record.Action), Content: record.Content, Fields: record.Fields, State: record.State,
				IgnoredFields: record.IgnoredFields, ManifestValues: record.ManifestValues, Completed: record.Completed, HeldSince: timeOrNil(record.ReadySince),
			}
			if record.Backoff != nil {
				entry.Repairs, entry.NextRepair = record.Backoff.Count, timeOrNil(record.Backoff.Next)
			}
			list = append(list, entry)
		}
	}
	return list
}

func reference(id revisions.ObjectID, version string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Group: id.Group, Version: version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func firstWith(objects []v1alpha1.ObjectStatus, reason string) *v1alpha1.ObjectStatus {
	for i := range objects {
		if objects[i].Reason == reason {
			return &objects[i]
		}
	}
	return nil
}
