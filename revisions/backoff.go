// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DriftCause is how an object ceased to be as it was left.
type DriftCause string

// The closed set of causes.
const (
	// DriftChanged means that fields of it were changed or removed.
	DriftChanged DriftCause = "Changed"
	// DriftDeleted means that it was deleted, or deleted and created again.
	DriftDeleted DriftCause = "Deleted"
	// DriftTakenOver means that another controller has taken it over.
	DriftTakenOver DriftCause = "TakenOver"
)

// DriftBackoff is about an object that does not stay as it was left, whatever the cause:
// its repairs are slowed, so that two managers that do not agree do not load the API
// server. It outlives the object, which may be deleted each time.
type DriftBackoff struct {
	// Cause is what was found last.
	Cause DriftCause
	// Manager is the field manager that has changed the object, or the controller that
	// has taken it over; empty when the API server keeps no trace of it.
	Manager string
	// Fields are the first fields that it has changed.
	Fields []string
	// Count is how many times in a row the object was found so.
	Count int64
	// First and Last are when that was first and last.
	First, Last time.Time
	// Next is when it may be repaired again.
	Next time.Time
}

const (
	// ImmediateRepairs is how many repairs in a row are made at once.
	ImmediateRepairs = 3
	// maxWait bounds the wait between two repairs of an object.
	maxWait = 5 * time.Minute
	// waitPerSlowed is what each other object whose repairs are slowed adds to that wait: all
	// objects of a package together are repaired 15 times a minute.
	waitPerSlowed = 4 * time.Second
	// maxSharedWait bounds what they add.
	maxSharedWait = time.Hour
	// resetAfter is how long an object must stay as it is after it could have been repaired
	// again, for the next repair to be the first one.
	resetAfter = 10 * time.Minute
	// maxFields bounds how many fields a message names.
	maxFields = 8
)

// Slowed says whether the object waits before it may be repaired again. Until then
// nothing proves that it stays as it was left.
func (b *DriftBackoff) Slowed(now time.Time) bool {
	if b == nil || b.Count < ImmediateRepairs {
		return false
	}
	// A clock that was set back must not stop repairs.
	return now.Before(b.Next) && !now.Before(b.Last) && b.Next.Sub(now) <= maxWait+maxSharedWait
}

// ended says that the object has stayed as it was left for long.
func (b *DriftBackoff) ended(now time.Time) bool { return b == nil || now.Sub(b.Next) >= resetAfter }

// next is the back-off after the object was found changed, deleted or taken over once
// more. As many others of its owner as are given are slowed, too.
func (b *DriftBackoff) next(drift drift, now time.Time, others int) *DriftBackoff {
	next := &DriftBackoff{Cause: drift.cause, Manager: drift.manager, Fields: drift.fields, Count: 1, First: now, Last: now, Next: now}
	if !b.ended(now) {
		next.Count, next.First = b.Count+1, b.First
		if drift.manager == "" && b.Cause == drift.cause {
			next.Manager, next.Fields = b.Manager, b.Fields
		}
	}
	if next.Count >= ImmediateRepairs {
		wait := min(time.Second<<min(next.Count-ImmediateRepairs, 20), maxWait)
		next.Next = now.Add(max(wait, min(time.Duration(others)*waitPerSlowed, maxSharedWait)))
	}
	return next
}

// drift is what was found of an object that is not as it was left.
type drift struct {
	cause   DriftCause
	manager string
	fields  []string
}

// driftBy is that of fields that other managers have changed.
func driftBy(managers []ConflictingManager) drift {
	found := drift{cause: DriftChanged}
	if len(managers) > 0 {
		found.manager = managers[0].Manager
		found.fields = slices.Clone(managers[0].Fields[:min(maxFields, len(managers[0].Fields))])
	}
	return found
}

// String says what happens to the object.
func (b *DriftBackoff) String() string {
	return Interference(b.Cause, b.Manager, b.Fields) + ": repairs are slowed"
}

// Interference says in words that an object does not stay as it was left.
func Interference(cause DriftCause, manager string, fields []string) string {
	by := cmp.Or(manager, "another client")
	switch {
	case cause == DriftDeleted:
		return "it is deleted again and again"
	case cause == DriftTakenOver:
		return by + " has taken it over"
	case len(fields) == 0:
		return by + " keeps changing or removing fields of it"
	default:
		return by + " keeps changing " + strings.Join(fields, ", ") + " of it"
	}
}

// driftReason says what has drifted, as far as the API server shows it.
func driftReason(managers []ConflictingManager) string {
	found := driftBy(managers)
	text := cmp.Or(found.manager, "another manager") + " has changed "
	if len(found.fields) == 0 {
		return text + "or removed a field of it"
	}
	return text + strings.Join(found.fields, ", ") + " of it"
}
