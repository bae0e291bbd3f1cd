// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// Records are what a revision's status says of each object that it has put in place,
// and of who keeps changing it.
func Records(status v1alpha1.RevisionStatus) map[revisions.ObjectID]revisions.Record {
	contests := map[revisions.ObjectID]*revisions.Contest{}
	for _, entry := range status.Interference {
		contests[ID(entry.ObjectReference)] = &revisions.Contest{
			Manager: entry.Manager, Fields: entry.Fields, Count: entry.Count,
			First: entry.FirstSeen.Time, Last: entry.LastSeen.Time,
		}
	}
	records := map[revisions.ObjectID]revisions.Record{}
	for _, entry := range status.Inventory {
		id := ID(entry.ObjectReference)
		record := revisions.Record{
			UID: types.UID(entry.UID), Action: revisions.Action(entry.Action),
			Content: entry.Content, Fields: entry.Fields, Yielded: entry.Yielded, Contest: contests[id],
		}
		if entry.HeldSince != nil {
			record.HeldSince = entry.HeldSince.Time
		}
		records[id] = record
	}
	return records
}

// Holds says whether a status says the same as the records, so that [Records] would
// give them again.
func Holds(status v1alpha1.RevisionStatus, records map[revisions.ObjectID]revisions.Record) bool {
	if len(status.Interference) > 0 || len(status.Inventory) != len(records) {
		return false // fights are few, and not worth a comparison
	}
	for i := range status.Inventory {
		entry := &status.Inventory[i]
		record, known := records[ID(entry.ObjectReference)]
		heldSince := record.HeldSince.IsZero() && entry.HeldSince == nil || entry.HeldSince != nil && record.HeldSince.Equal(entry.HeldSince.Time)
		if !known || record.Contest != nil || !heldSince ||
			string(record.UID) != entry.UID || string(record.Action) != entry.Action ||
			record.Content != entry.Content || record.Fields != entry.Fields || !slices.Equal(record.Yielded, entry.Yielded) {
			return false
		}
	}
	return true
}
