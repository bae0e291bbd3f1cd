// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

const (
	// longestSpacing bounds the wait between two statuses that go back and forth.
	longestSpacing = time.Minute
	// quiet is how long no status was written for the next one to be the first again.
	quiet = 2 * longestSpacing
)

// spacing is about the writes of one status. Those that report no progress are spaced: an
// object that does not stay as it was left, or a probe that changes its mind, must not cost a
// write each time.
type spacing struct {
	// last is when the status was written last, or else when there was something to write
	// first, and count how many writes in a row have reported no progress.
	last  time.Time
	count int
	// reasons are those of Progressing that were written since the last news.
	reasons []string
}

// since is last, which is now for a status that was never written.
func (s *spacing) since(now time.Time) time.Time {
	if s.last.IsZero() {
		s.last = now
	}
	return s.last
}

// wait is how long the next one has to wait: not at all, a second, five, ten and so on.
func (s spacing) wait(now time.Time) time.Duration {
	switch {
	case s.count == 0 || now.Sub(s.last) >= quiet || now.Before(s.last):
		return 0
	case s.count == 1:
		return max(progressDelay-now.Sub(s.last), 0)
	default:
		return max(min(detailDelay<<min(s.count-2, 10), longestSpacing)-now.Sub(s.last), 0)
	}
}

// after is the spacing after one more write, with a reason of Progressing. One with news
// begins anew; a reason that was not written before is news once.
func (s spacing) after(isNews bool, reason string, now time.Time) spacing {
	if isNews && slices.Contains(s.reasons, reason) {
		s.reasons = nil
	}
	if !slices.Contains(s.reasons, reason) {
		s.reasons = append(slices.Clip(s.reasons), reason)
	}
	s.count++
	switch {
	case isNews:
		s.count = 0
	case now.Sub(s.last) >= quiet:
		s.count = 1
	}
	s.last = now
	return s
}

// settledReasons are those of Progressing between which a revision that has succeeded goes
// back and forth by itself, and rolloutReasons those of one that has not.
var (
	settledReasons = []string{v1alpha1.ReasonRolledOut, v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonRolloutError, v1alpha1.ReasonPermissionDenied}
	rolloutReasons = []string{
		v1alpha1.ReasonRollingOut, v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonRolloutError, v1alpha1.ReasonPermissionDenied,
		v1alpha1.ReasonObjectRefused, v1alpha1.ReasonProgressDeadlineExceeded,
	}
)

// isRevisionNews says whether a status reports what a user has requested or waits for,
// and that comes to an end: it is not reported again with each change of a probe's
// result.
func (s spacing) isRevisionNews(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus) bool {
	was, is := progressReason(onRecord.Status.Conditions), progressReason(next.Conditions)
	after := &v1alpha1.Revision{Status: next}
	switch {
	case onRecord.Status.ObservedGeneration != next.ObservedGeneration, history.Succeeded(onRecord) != history.Succeeded(after):
		return true
	case history.Succeeded(after):
		return !slices.Contains(settledReasons, was) || !slices.Contains(settledReasons, is)
	case isUnderWay(next) && hasProgressed(onRecord.Status, next):
		return true
	case slices.Contains(rolloutReasons, was) && slices.Contains(rolloutReasons, is):
		return was != is && !slices.Contains(s.reasons, is)
	default:
		return was != is
	}
}

func progressReason(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionProgressing); c != nil {
		return c.Reason
	}
	return ""
}

// isPackageNews is the same for the status of a package. While a rollout is under way its
// own rules hold.
func isPackageNews(before, next v1alpha1.PackageStatus) bool {
	return before.ObservedGeneration != next.ObservedGeneration ||
		before.TargetRevision != next.TargetRevision || before.CurrentRevision != next.CurrentRevision ||
		!equality.Semantic.DeepEqual(before.Rollback, next.Rollback) || !equality.Semantic.DeepEqual(before.AutomaticRollback, next.AutomaticRollback) ||
		!slices.Contains(settledReasons, progressReason(before.Conditions)) || !slices.Contains(settledReasons, progressReason(next.Conditions))
}
