// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// Records are what a revision's status says of each object that it has put in place,
// and of how it ceased to be as it was left.
func Records(status v1alpha1.RevisionStatus) map[revisions.ObjectID]revisions.Record {
	interference := map[revisions.ObjectID]v1alpha1.Interference{}
	for _, entry := range status.Interference {
		if entry.Cause != v1alpha1.InterferenceFlapping { // which is no drift
			interference[ObjectID(entry.ObjectReference)] = entry
		}
	}
	records := map[revisions.ObjectID]revisions.Record{}
	for _, entry := range status.Inventory {
		id := ObjectID(entry.ObjectReference)
		record := revisions.Record{
			UID: types.UID(entry.UID), Action: revisions.Action(entry.Action),
			Content: entry.Content, Fields: entry.Fields, State: entry.State, IgnoredFields: entry.IgnoredFields, ManifestValues: entry.ManifestValues, Completed: entry.Completed,
			Backoff: backoff(entry, interference[id]),
		}
		if entry.HeldSince != nil {
			record.ReadySince = entry.HeldSince.Time
		}
		records[id] = record
	}
	return records
}

// backoff is what an entry of the inventory says of an object that does not stay as it
// was left, and the list of these, which has not room for all, says besides.
func backoff(entry v1alpha1.InventoryEntry, listed v1alpha1.Interference) *revisions.DriftBackoff {
	if entry.Repairs == 0 || entry.NextRepair == nil {
		return nil
	}
	return &revisions.DriftBackoff{
		Cause: revisions.DriftCause(listed.Cause), Manager: listed.Manager, Fields: listed.Fields,
		Count: entry.Repairs, First: listed.FirstSeen.Time, Last: listed.LastSeen.Time, Next: entry.NextRepair.Time,
	}
}

// HasRecords says whether a status says the same as the records, so that [Records] would
// give them again.
func HasRecords(status v1alpha1.RevisionStatus, records map[revisions.ObjectID]revisions.Record) bool {
	if len(status.Interference) > 0 || len(status.Inventory) != len(records) {
		return false // interference is rare, and not worth a comparison
	}
	for i := range status.Inventory {
		entry := &status.Inventory[i]
		record, known := records[ObjectID(entry.ObjectReference)]
		heldSince := record.ReadySince.IsZero() && entry.HeldSince == nil || entry.HeldSince != nil && record.ReadySince.Equal(entry.HeldSince.Time)
		if !known || record.Backoff != nil || entry.Repairs != 0 || !heldSince || record.Completed != entry.Completed ||
			string(record.UID) != entry.UID || string(record.Action) != entry.Action ||
			record.Content != entry.Content || record.Fields != entry.Fields || record.State != entry.State || !slices.Equal(record.IgnoredFields, entry.IgnoredFields) ||
			!slices.Equal(record.ManifestValues, entry.ManifestValues) {
			return false
		}
	}
	return true
}
