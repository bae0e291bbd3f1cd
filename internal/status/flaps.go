// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/probes"
	"github.com/strata-run/strata/revisions"
)

const (
	// mostFlaps bounds the list of objects that ceased to be ready.
	mostFlaps = 16
	// calm is how long an object has to stay ready to be taken off that list.
	calm = 24 * time.Hour
)

// flaps lists the objects that were ready and ceased to be so although they were not
// written, the newest change first. What was ready before is what had been put in
// place and did not stand among those that are not ready.
func flaps(before v1alpha1.RevisionStatus, result revisions.RevisionResult, now metav1.Time) []v1alpha1.Flap {
	placed, unready := map[v1alpha1.ObjectReference]bool{}, map[v1alpha1.ObjectReference]bool{}
	for _, entry := range before.Inventory {
		placed[entry.ObjectReference] = true
	}
	for _, entry := range before.Objects {
		unready[entry.ObjectReference] = true
	}
	// In a list that is full not every object that was not ready has a place.
	isWhole := len(before.Objects) < mostObjects
	list := slices.Clone(before.Flaps)
	for _, phase := range result.Phases {
		for _, object := range phase.Objects {
			ref := reference(object.ID, object.Version)
			at := slices.IndexFunc(list, func(f v1alpha1.Flap) bool { return f.ObjectReference == ref })
			lapsed := isWhole && placed[ref] && !unready[ref] && object.InPlace() && object.Probe.Status != probes.True && !object.Wrote()
			switch {
			case lapsed && at < 0:
				list = append(list, v1alpha1.Flap{ObjectReference: ref, Count: 1, LastChange: now})
			case lapsed:
				list[at].Count, list[at].LastChange = list[at].Count+1, now
			case at < 0 || !object.Ready():
			case unready[ref]:
				list[at].LastChange = now
			case now.Sub(list[at].LastChange.Time) >= calm:
				list = slices.Delete(list, at, at+1)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b v1alpha1.Flap) int { return b.LastChange.Compare(a.LastChange.Time) })
	return list[:min(len(list), mostFlaps)]
}
