// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Line is a package's revisions, sorted by what is to be done with them.
type Line struct {
	// Target is the newest revision that is not archived, nil without one.
	Target *v1alpha1.Revision
	// Serving are the older ones that are not archived, newest first.
	Serving []*v1alpha1.Revision
	// Waiting are newer than the target and withheld, newest first. Only
	// [Line.Before] distinguishes them.
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
func Sort(pkg *v1alpha1.Package, all []v1alpha1.Revision) Line {
	line := Line{Highest: pkg.Status.HighestRevision}
	newestFirst := make([]*v1alpha1.Revision, 0, len(all))
	for i := range all {
		newestFirst = append(newestFirst, &all[i])
	}
	slices.SortFunc(newestFirst, func(a, b *v1alpha1.Revision) int {
		return cmp.Compare(b.Spec.Revision, a.Spec.Revision)
	})
	for _, revision := range newestFirst {
		line.Highest = max(line.Highest, revision.Spec.Revision)
		if Succeeded(revision) && line.lastGood == nil {
			line.lastGood = revision
		}
		switch {
		case revision.Spec.LifecycleState == v1alpha1.LifecycleArchived && revision.Status.ArchivedAt != nil:
			line.Archived = append(line.Archived, revision)
			continue
		case revision.Spec.LifecycleState == v1alpha1.LifecycleArchived:
			line.Archiving = append(line.Archiving, revision)
			continue
		case line.Target == nil:
			line.Target = revision
		default:
			line.Serving = append(line.Serving, revision)
		}
		if Succeeded(revision) && line.Current == nil {
			line.Current = revision
		}
	}
	if line.Current == nil {
		line.Current = line.lastGood
	}
	return line
}

// Find is the revision of a number, nil when it is gone.
func (l Line) Find(number int64) *v1alpha1.Revision {
	for _, revision := range l.All() {
		if revision.Spec.Revision == number {
			return revision
		}
	}
	return nil
}

// All are the revisions, newest first.
func (l Line) All() []*v1alpha1.Revision {
	var all []*v1alpha1.Revision
	if l.Target != nil {
		all = append(all, l.Target)
	}
	return slices.Concat(l.Waiting, all, l.Serving, l.Archiving, l.Archived)
}

// Before is the line as it is while the revisions newer than the one given, which
// is one of those that serve, are withheld: that one goes on being rolled out.
func (l Line) Before(target *v1alpha1.Revision) Line {
	at := slices.Index(l.Serving, target)
	if at < 0 {
		return l
	}
	l.Waiting = slices.Concat(l.Waiting, []*v1alpha1.Revision{l.Target}, l.Serving[:at])
	l.Target, l.Serving = target, slices.Clone(l.Serving[at+1:])
	return l
}

// Newest is the newest revision that is not archived, nil without one.
func (l Line) Newest() *v1alpha1.Revision {
	if len(l.Waiting) > 0 {
		return l.Waiting[0]
	}
	return l.Target
}

// Succeeded says that a revision had been rolled out completely once.
func Succeeded(revision *v1alpha1.Revision) bool {
	return meta.IsStatusConditionTrue(revision.Status.Conditions, v1alpha1.ConditionSucceeded)
}

// Prune are the archived revisions beyond the package's history limit, oldest
// first. The current one and the newest that has succeeded are never among them,
// and neither is one whose number the package's status does not cover yet: the
// number could be given again.
func (l Line) Prune(pkg *v1alpha1.Package) []*v1alpha1.Revision {
	limit := 5
	if pkg.Spec.RevisionHistoryLimit != nil {
		limit = int(*pkg.Spec.RevisionHistoryLimit)
	}
	var beyond []*v1alpha1.Revision
	kept := 0
	for _, revision := range l.Archived {
		if revision == l.Current || revision == l.lastGood || !IsOnRecord(pkg, revision) {
			continue
		}
		kept++
		if kept > limit {
			beyond = append(beyond, revision)
		}
	}
	slices.Reverse(beyond)
	return beyond
}

// IsOnRecord says whether the package's status covers a revision's number, so that
// it is not given again when the revision is gone.
func IsOnRecord(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	return revision.Spec.Revision <= pkg.Status.HighestRevision
}

// Standing are the revisions whose objects may still be on the cluster, newest
// first.
func (l Line) Standing() []*v1alpha1.Revision {
	return slices.DeleteFunc(l.All(), func(revision *v1alpha1.Revision) bool {
		return revision.Status.ArchivedAt != nil
	})
}
