// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pass carries one call's input through its stages. After the preflight it is
// only read, as the objects of a phase are looked at concurrently.
type pass struct {
	Rollout

	// records are what is known of each object, from the newest revision that has
	// put it in place.
	records map[ObjectID]Record
	// slowed is how many of them do not stay as they were left.
	slowed int
	// kinds are those of all objects, and served says by kind why the API server
	// does not serve it, nil where it does.
	kinds  []Kind
	served map[schema.GroupVersionKind]error
	// deferred are the target's objects that wait for a later phase.
	deferred *deferredObjects
	// defined are the kinds that a CustomResourceDefinition of the history defines.
	defined map[schema.GroupKind]bool
}

func newPass(in Rollout) *pass {
	if in.Confirm == nil {
		in.Confirm = func(context.Context, bool) error { return nil }
	}
	records := newestRecords(in)
	return &pass{
		Rollout: in, records: records, deferred: newDeferred(in), slowed: slowedObjects(records, in.Now),
		served: map[schema.GroupVersionKind]error{}, defined: map[schema.GroupKind]bool{},
	}
}

// prepared is the rollout with every manifest prepared.
func (r Rollout) prepared() Rollout {
	r.Target = r.Target.Prepared()
	serving := make([]Revision, len(r.Serving))
	for i, revision := range r.Serving {
		serving[i] = revision.Prepared()
	}
	r.Serving = serving
	return r
}

// newestRecords merges the records of all revisions; the newest one's win.
func newestRecords(in Rollout) map[ObjectID]Record {
	if len(in.Serving) == 0 {
		return in.Target.Records
	}
	records := map[ObjectID]Record{}
	for _, serving := range slices.Backward(in.Serving) {
		maps.Copy(records, serving.Records)
	}
	for id, record := range records {
		record.Earlier = true
		records[id] = record
	}
	maps.Copy(records, in.Target.Records)
	return records
}

// slowedObjects are how many objects are about to be slowed, or are.
func slowedObjects(records map[ObjectID]Record, now time.Time) int {
	count := 0
	for _, record := range records {
		if record.Backoff != nil && record.Backoff.Count >= ImmediateRepairs-1 && !record.Backoff.ended(now) {
			count++
		}
	}
	return count
}

func (ps *pass) record(id ObjectID) *Record {
	record, known := ps.records[id]
	if !known {
		return nil
	}
	return &record
}

// add notes a kind once. Its body is watched when any object of it is probed.
func (ps *pass) add(kind Kind) {
	for i := range ps.kinds {
		if ps.kinds[i].GroupVersionKind == kind.GroupVersionKind {
			ps.kinds[i].MetadataOnly = ps.kinds[i].MetadataOnly && kind.MetadataOnly
			return
		}
	}
	ps.kinds = append(ps.kinds, kind)
}

// only is the phase with those of its objects that are named and wanted.
func (p Phase) only(want func(ObjectID) bool) Phase {
	kept := Phase{Name: p.Name}
	for _, object := range p.Objects {
		if object.prepared.identified() && want(object.prepared.id) {
			kept.Objects = append(kept.Objects, object)
		}
	}
	return kept
}
