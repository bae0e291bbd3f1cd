// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions"
)

// setDue says by when each of the objects that are not ready has to be, where its
// probes set a limit. A limit counts from when the object was seen not ready first,
// and anew when it was written; it is for rollouts, and not while these are stopped.
func setDue(objects, before []v1alpha1.ObjectStatus, o Observation, succeeded bool) {
	if succeeded || o.isStopped() {
		return
	}
	within := map[revisions.ObjectID]time.Duration{}
	for _, phase := range o.Loaded.Phases {
		for _, object := range phase.Objects {
			if object.Within > 0 {
				within[revisions.IDOf(object.Manifest)] = object.Within
			}
		}
	}
	wrote := map[revisions.ObjectID]bool{}
	for _, phase := range o.Result.Phases {
		for _, object := range phase.Objects {
			wrote[object.ID] = object.Wrote()
		}
	}
	for i := range objects {
		entry := &objects[i]
		id := content.ObjectID(entry.ObjectReference)
		if within[id] == 0 {
			continue
		}
		// Times of a status have whole seconds; a limit is not cut short by that.
		due := metav1.NewTime(o.Now.Add(within[id] + time.Second - 1).Truncate(time.Second))
		entry.DueAt = &due
		known := slices.IndexFunc(before, func(old v1alpha1.ObjectStatus) bool { return old.ObjectReference == entry.ObjectReference })
		if known >= 0 && before[known].DueAt != nil && !wrote[id] {
			entry.DueAt = before[known].DueAt
		}
	}
}

// overdue is the object that was to be ready first of those that are not in time, nil
// when there is none.
func overdue(status v1alpha1.RevisionStatus, now time.Time) *v1alpha1.ObjectStatus {
	var first *v1alpha1.ObjectStatus
	for i := range status.Objects {
		entry := &status.Objects[i]
		if entry.DueAt == nil || now.Before(entry.DueAt.Time) {
			continue
		}
		if first == nil || entry.DueAt.Before(first.DueAt) {
			first = entry
		}
	}
	return first
}

// DueLeft is how long until the next object has to be ready, 0 when none has to.
func DueLeft(status v1alpha1.RevisionStatus, now time.Time) time.Duration {
	var left time.Duration
	for _, entry := range status.Objects {
		if entry.DueAt == nil || !now.Before(entry.DueAt.Time) {
			continue
		}
		if wait := entry.DueAt.Sub(now); left == 0 || wait < left {
			left = wait
		}
	}
	return left
}

// overdueText says what kept a rollout from being done in time.
func overdueText(next v1alpha1.RevisionStatus, o Observation, waiting string) string {
	if object := overdue(next, o.Now.Time); object != nil {
		return objectText(object.ObjectReference) + " was not ready in time (within of its probe): " + object.Message
	}
	return "nothing moved for " + o.Deadline.String() + ": " + waiting
}

// timeOrNil is a time of a status, nil for the zero time.
func timeOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t).Rfc3339Copy()
	return &at
}
