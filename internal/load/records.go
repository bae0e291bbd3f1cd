// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
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
