// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/strata-run/strata/api/v1alpha1"
)

// History is a package's revision history, sorted by what is to be done with the revisions.
type History struct {
	// Target is the newest revision that is not archived, nil without one.
	Target *v1alpha1.Revision
	// Serving are the older ones that are not archived, newest first.
	Serving []*v1alpha1.Revision
	// Waiting are newer than the target and not approved, newest first. Only
	// [History.Before] distinguishes them.
	Waiting []*v1alpha1.Revision
	// Archiving are archived, and not yet torn down; newest first.
	Archiving []*v1alpha1.Revision
	// Archived are torn down, newest first.
	Archived []*v1alpha1.Revision
	// Current is the newest that has succeeded and is not archived, or else the
	// newest that has succeeded at all; nil when none has.
	Current *v1alpha1.Revision
	// Highest is the highest number ever given.
	Highest int64

	// lastGood is the newest that has succeeded, archived or not.
	lastGood *v1alpha1.Revision
}

// Sort sorts the revisions of a package. The package's status keeps the highest
// number, also of revisions that are gone.
func Sort(pkg *v1alpha1.Package, all []v1alpha1.Revision) History {
	h := History{Highest: pkg.Status.HighestRevision}
	newestFirst := make([]*v1alpha1.Revision, 0, len(all))
	for i := range all {
		newestFirst = append(newestFirst, &all[i])
	}
	slices.SortFunc(newestFirst, func(a, b *v1alpha1.Revision) int {
		return cmp.Compare(b.Spec.Revision, a.Spec.Revision)
	})
	for _, revision := range newestFirst {
		h.Highest = max(h.Highest, revision.Spec.Revision)
		if Succeeded(revision) && h.lastGood == nil {
			h.lastGood = revision
		}
		switch {
		case revision.Spec.LifecycleState == v1alpha1.LifecycleArchived && revision.Status.ArchivedAt != nil:
			h.Archived = append(h.Archived, revision)
			continue
		case revision.Spec.LifecycleState == v1alpha1.LifecycleArchived:
			h.Archiving = append(h.Archiving, revision)
			continue
		case h.Target == nil:
			h.Target = revision
		default:
			h.Serving = append(h.Serving, revision)
		}
		if Succeeded(revision) && h.Current == nil {
			h.Current = revision
		}
	}
	if h.Current == nil {
		h.Current = h.lastGood
	}
	return h
}

// Find is the revision of a number, nil when it is gone.
func (h History) Find(number int64) *v1alpha1.Revision {
	for _, revision := range h.All() {
		if revision.Spec.Revision == number {
			return revision
		}
	}
	return nil
}

// All are the revisions, newest first.
func (h History) All() []*v1alpha1.Revision {
	var all []*v1alpha1.Revision
	if h.Target != nil {
		all = append(all, h.Target)
	}
	return slices.Concat(h.Waiting, all, h.Serving, h.Archiving, h.Archived)
}

// Before is the history as it is while the revisions newer than the one given, which
// is one of those that serve, are not approved: that one goes on being rolled out.
func (h History) Before(target *v1alpha1.Revision) History {
	at := slices.Index(h.Serving, target)
	if at < 0 {
		return h
	}
	h.Waiting = slices.Concat(h.Waiting, []*v1alpha1.Revision{h.Target}, h.Serving[:at])
	h.Target, h.Serving = target, slices.Clone(h.Serving[at+1:])
	return h
}

// Newest is the newest revision that is not archived, nil without one.
func (h History) Newest() *v1alpha1.Revision {
	if len(h.Waiting) > 0 {
		return h.Waiting[0]
	}
	return h.Target
}

// Succeeded says that a revision had been rolled out completely once.
func Succeeded(revision *v1alpha1.Revision) bool {
	return meta.IsStatusConditionTrue(revision.Status.Conditions, v1alpha1.ConditionSucceeded)
}

// IsOnRecord says whether the package's status covers a revision's number, so that
// it is not given again when the revision is gone.
func IsOnRecord(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	return revision.Spec.Revision <= pkg.Status.HighestRevision
}

// Standing are the revisions whose objects may still be on the cluster, newest
// first.
func (h History) Standing() []*v1alpha1.Revision {
	return slices.DeleteFunc(h.All(), func(revision *v1alpha1.Revision) bool {
		return revision.Status.ArchivedAt != nil
	})
}
