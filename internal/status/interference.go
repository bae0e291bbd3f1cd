// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

const (
	// mostInterference bounds the list of objects that do not stay as they were left.
	mostInterference = 16
	// mostFields bounds the fields that are named of one of them.
	mostFields = 8
	// fieldLimit bounds the name of a field or of a manager, in bytes.
	fieldLimit = 256
)

// interference lists the objects that do not stay as they were left, those that flap among
// them: those that were found so last, the newest first.
func interference(loaded revisions.Revision, records map[revisions.ObjectID]revisions.Record, list []v1alpha1.Interference) []v1alpha1.Interference {
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			id := revisions.IDOf(object.Manifest)
			backoff := records[id].Backoff
			if backoff == nil || backoff.Last.IsZero() {
				continue
			}
			entry := v1alpha1.Interference{
				ObjectReference: reference(id, object.Manifest.GroupVersionKind().Version),
				Cause:           v1alpha1.InterferenceCause(backoff.Cause), Manager: bound(backoff.Manager, fieldLimit), Count: backoff.Count,
				FirstSeen: metav1.NewTime(backoff.First).Rfc3339Copy(), LastSeen: metav1.NewTime(backoff.Last).Rfc3339Copy(),
				NextRepair: timeOrNil(backoff.Next),
			}
			for _, field := range backoff.Fields[:min(len(backoff.Fields), mostFields)] {
				entry.Fields = append(entry.Fields, bound(field, fieldLimit))
			}
			list = append(list, entry)
		}
	}
	slices.SortStableFunc(list, func(a, b v1alpha1.Interference) int { return b.LastSeen.Compare(a.LastSeen.Time) })
	return list[:min(len(list), mostInterference)]
}

// conflicts are the objects of a revision that are not proven to be as they are wanted:
// their repairs are slowed, as they do not stay, or they flap.
func conflicts(revision *v1alpha1.Revision, now metav1.Time) []v1alpha1.Interference {
	var list []v1alpha1.Interference
	for _, entry := range revision.Status.Interference {
		backoff := revisions.DriftBackoff{Count: entry.Count, Last: entry.LastSeen.Time}
		if entry.NextRepair != nil {
			backoff.Next = entry.NextRepair.Time
		}
		if isFlapping(entry, now) || entry.Cause != v1alpha1.InterferenceFlapping && backoff.Slowed(now.Time) {
			list = append(list, entry)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.Interference) int {
		return strings.Compare(objectText(a.ObjectReference), objectText(b.ObjectReference))
	})
	return list
}

// conflictText names the first of these objects, and what happens to it. It says neither
// when nor how often: the text stays while the conflict does.
func conflictText(list []v1alpha1.Interference) string {
	if len(list) == 0 {
		return ""
	}
	first := list[0]
	text := objectText(first.ObjectReference) + ": "
	if first.Cause == v1alpha1.InterferenceFlapping {
		text += "it ceases to be ready again and again"
	} else {
		text += revisions.Interference(revisions.DriftCause(first.Cause), first.Manager, first.Fields) + ", and repairs are slowed"
	}
	if len(list) > 1 {
		text += fmt.Sprintf(" (and %d more objects)", len(list)-1)
	}
	return text
}

// InterferenceOn is what a package's status says of objects that do not stay as they are
// wanted, although it serves; empty when all do.
func InterferenceOn(pkg *v1alpha1.Package) string {
	ready := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonInterference && ready.Reason != v1alpha1.ReasonRightsDiffer {
		return ""
	}
	return ready.Message
}

// RightsDiffer says what accounts may do that a package does not want, or the other way round;
// empty when nothing differs.
func RightsDiffer(pkg *v1alpha1.Package) string {
	ready := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonRightsDiffer {
		return ""
	}
	return ready.Message
}

// isRight says whether an object says what accounts may do.
func isRight(ref v1alpha1.ObjectReference) bool { return ref.Group == "rbac.authorization.k8s.io" }
