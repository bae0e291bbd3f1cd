// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

const (
	// mostInterference bounds the list of objects that somebody else keeps changing.
	mostInterference = 16
	// mostFields bounds the fields that are named of one of them.
	mostFields = 8
	// fieldLimit bounds the name of a field or of a manager, in bytes.
	fieldLimit = 256
)

// interference lists the objects that somebody else keeps changing: those that were
// changed last, the newest first.
func interference(loaded revisions.Revision, records map[revisions.ObjectID]revisions.Record) []v1alpha1.Interference {
	var list []v1alpha1.Interference
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			id := revisions.IDOf(object.Manifest)
			contest := records[id].Contest
			if contest == nil {
				continue
			}
			entry := v1alpha1.Interference{
				ObjectReference: reference(id, object.Manifest.GroupVersionKind().Version),
				Manager:         bound(contest.Manager, fieldLimit), Count: contest.Count,
				FirstSeen: metav1.NewTime(contest.First).Rfc3339Copy(), LastSeen: metav1.NewTime(contest.Last).Rfc3339Copy(),
			}
			for _, field := range contest.Fields[:min(len(contest.Fields), mostFields)] {
				entry.Fields = append(entry.Fields, bound(field, fieldLimit))
			}
			list = append(list, entry)
		}
	}
	slices.SortStableFunc(list, func(a, b v1alpha1.Interference) int { return b.LastSeen.Compare(a.LastSeen.Time) })
	return list[:min(len(list), mostInterference)]
}
