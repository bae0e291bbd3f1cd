// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

const (
	// mostFlaps bounds the list of objects that ceased to be ready.
	mostFlaps = 16
	// calm is how long an object has to stay ready to be taken off that list.
	calm = 24 * time.Hour
	// often is from how many times in a row on an object flaps, and flapCalm how long it has
	// to stay as it is for the next time to be the first one.
	often    = 3
	flapCalm = 10 * time.Minute
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
	isWhole := len(before.Objects) < MostObjects
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

// flapping lists the objects that ceased to be ready in a row: those of before, as long as
// that is not over, and those that did so now.
func flapping(before v1alpha1.RevisionStatus, now metav1.Time, after []v1alpha1.Flap) []v1alpha1.Interference {
	var list []v1alpha1.Interference
	for _, entry := range before.Interference {
		if entry.Cause == v1alpha1.InterferenceFlapping && now.Sub(entry.LastSeen.Time) < flapCalm {
			list = append(list, entry)
		}
	}
	for _, flap := range after {
		isOf := func(f v1alpha1.Flap) bool { return f.ObjectReference == flap.ObjectReference }
		if at := slices.IndexFunc(before.Flaps, isOf); at >= 0 && before.Flaps[at].Count >= flap.Count {
			continue
		}
		at := slices.IndexFunc(list, func(i v1alpha1.Interference) bool { return i.ObjectReference == flap.ObjectReference })
		if at < 0 {
			list = append(list, v1alpha1.Interference{ObjectReference: flap.ObjectReference, Cause: v1alpha1.InterferenceFlapping, FirstSeen: now})
			at = len(list) - 1
		}
		list[at].Count, list[at].LastSeen = list[at].Count+1, now
	}
	return list
}

// isFlapping says whether an entry is about an object that goes on to flap.
func isFlapping(entry v1alpha1.Interference, now metav1.Time) bool {
	return entry.Cause == v1alpha1.InterferenceFlapping && entry.Count >= often && now.Sub(entry.LastSeen.Time) < flapCalm
}

// FlappingLeft is how long until an object that flaps counts as one that stays, 0 when none
// flaps.
func FlappingLeft(status v1alpha1.RevisionStatus, now time.Time) time.Duration {
	var left time.Duration
	for _, entry := range status.Interference {
		if isFlapping(entry, metav1.NewTime(now)) {
			left = max(left, entry.LastSeen.Add(flapCalm).Sub(now))
		}
	}
	return left
}
