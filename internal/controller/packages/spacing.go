// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

const (
	// longestSpacing bounds the wait between two statuses that go back and forth.
	longestSpacing = time.Minute
	// quiet is how long no status was written for the next one to be the first again.
	quiet = 2 * longestSpacing
)

// spacing is about the writes of one status that tell of no progress: an object that does
// not stay as it was left, or a probe that changes its mind, must not cost a write each time.
type spacing struct {
	// count is how many there were in a row, last when the last one was.
	count int
	last  time.Time
}

// wait is how long the next one has to wait: not at all, a second, five, ten and so on.
func (s spacing) wait(now time.Time) time.Duration {
	switch {
	case s.count == 0 || now.Sub(s.last) >= quiet || now.Before(s.last):
		return 0
	case s.count == 1:
		return max(settle-now.Sub(s.last), 0)
	default:
		return max(min(detailSettle<<min(s.count-2, 10), longestSpacing)-now.Sub(s.last), 0)
	}
}

// after is the spacing after one more write. One with news begins anew.
func (s spacing) after(isNews bool, now time.Time) spacing {
	switch {
	case isNews:
		return spacing{last: now}
	case now.Sub(s.last) >= quiet:
		return spacing{count: 1, last: now}
	default:
		return spacing{count: s.count + 1, last: now}
	}
}

// settledReasons are those of Progressing between which a revision that has succeeded goes
// back and forth by itself.
var settledReasons = []string{v1alpha1.ReasonRolledOut, v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonRolloutError, v1alpha1.ReasonPermissionDenied}

// isRevisionNews says whether a status tells of something that a user has asked for or
// waits for, and that comes to an end.
func isRevisionNews(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus) bool {
	was, is := progressReason(onRecord.Status), progressReason(next)
	after := &v1alpha1.Revision{Status: next}
	switch {
	case onRecord.Status.ObservedGeneration != next.ObservedGeneration, history.Succeeded(onRecord) != history.Succeeded(after):
		return true
	case history.Succeeded(after):
		return !slices.Contains(settledReasons, was) || !slices.Contains(settledReasons, is)
	case isUnderWay(next) && hasProgressed(onRecord.Status, next):
		return true
	default:
		return was != is && is != v1alpha1.ReasonRolloutError && is != v1alpha1.ReasonObjectCollisions
	}
}

func progressReason(s v1alpha1.RevisionStatus) string {
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionProgressing); c != nil {
		return c.Reason
	}
	return ""
}

// isPackageNews is the same for the status of a package. While a rollout is under way its
// own rules hold.
func isPackageNews(before, next v1alpha1.PackageStatus) bool {
	reason := func(s v1alpha1.PackageStatus) string {
		return progressReason(v1alpha1.RevisionStatus{Conditions: s.Conditions})
	}
	return before.ObservedGeneration != next.ObservedGeneration ||
		before.TargetRevision != next.TargetRevision || before.CurrentRevision != next.CurrentRevision ||
		!equality.Semantic.DeepEqual(before.Rollback, next.Rollback) || !equality.Semantic.DeepEqual(before.AutomaticRollback, next.AutomaticRollback) ||
		!slices.Contains(settledReasons, reason(before)) || !slices.Contains(settledReasons, reason(next))
}

// spacePackage says how long the status of a package waits.
func (w *Worker) spacePackage(pkg *v1alpha1.Package, before v1alpha1.PackageStatus, known *memory) time.Duration {
	if equality.Semantic.DeepEqual(before, pkg.Status) || isPackageNews(before, pkg.Status) {
		return 0
	}
	return known.spacing.wait(w.Now())
}
