// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

const (
	// settle is how long a status that reports a phase's progress may wait for more
	// of it, so that a quick rollout costs few writes.
	settle = time.Second
	// detailSettle is the same for a status in which only details have changed, and for
	// the first one of a revision.
	detailSettle = 5 * time.Second
	// longestSettle bounds the wait of a status of a rollout that makes no progress: a probe
	// that changes its mind must not cost a write each time.
	longestSettle = 3 * detailSettle
)

// persist writes the statuses of the active revisions, or holds them back for a
// moment when they report nothing but progress. On return the line has the new
// statuses, also those that are held back.
func (w *Worker) persist(ctx context.Context, p *pass, known *memory) (loop.Outcome, error) {
	onRecord := p.line.Target
	if onRecord == nil {
		// The client that has just made the package is about to make a revision.
		wait := max(2*settle-w.Now().Sub(p.pkg.CreationTimestamp.Time), 0)
		return loop.Outcome{Hold: wait > 0, After: wait}, nil
	}
	// Times of a status count from when they were noted first, not from when they were written.
	p.line.Target = known.latest(onRecord)
	next := status.ForTarget(p.line.Target, p.observation())
	wait := w.hold(onRecord, next, known)
	var errs []error
	if wait > 0 {
		p.line.Target = known.withhold(onRecord, next)
	} else {
		written, err := w.writeStatus(ctx, onRecord, next, known)
		p.line.Target = written
		errs = append(errs, err)
	}
	after, err := w.persistServing(ctx, p, wait > 0, known)
	errs = append(errs, w.persistWaiting(ctx, p, known), err)
	if wait == 0 || history.Succeeded(p.line.Target) {
		return loop.Outcome{After: soonest(after, wait)}, errors.Join(errs...)
	}
	brief := w.holdPackage(p, known)
	if !hasProgressed(onRecord.Status, next) {
		brief = max(brief, wait)
	}
	return loop.Outcome{Hold: brief > 0, After: soonest(after, soonest(brief, wait))}, errors.Join(errs...)
}

// persistWaiting writes the statuses of the revisions that are withheld.
func (w *Worker) persistWaiting(ctx context.Context, p *pass, known *memory) error {
	var errs []error
	for i, revision := range p.line.Waiting {
		if i > 0 && !known.hasPlaced(revision) {
			continue // it is archived in this pass
		}
		next := status.ForWaiting(revision, w.withheld(ctx, p.pkg, p.line, revision, known), p.line.Target.Spec.Revision, p.now)
		written, err := w.writeStatus(ctx, revision, next, known)
		p.line.Waiting[i] = written
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// persistServing writes the statuses of the older active revisions. While the target is
// rolled out they wait as its own does, unless their health has changed. It says when the
// first one that waits is due.
func (w *Worker) persistServing(ctx context.Context, p *pass, isHeld bool, known *memory) (after time.Duration, err error) {
	var errs []error
	archives := !p.isPaused && p.isTargetKnown()
	for i, revision := range p.line.Serving {
		if archives && (history.Succeeded(p.line.Target) || !history.Succeeded(revision) && !known.hasPlaced(revision)) {
			continue // it is archived in this pass
		}
		next := status.ForServing(known.latest(revision), p.serving[i], p.result.Serving[i], p.result.Serves, p.unloaded[revision.Spec.Revision], p.now)
		if isUnderWay(p.line.Target.Status) && (isHeld && sameHealth(revision.Status, next) || sameButForWords(revision.Status, next)) {
			continue
		}
		if wait := w.space(revision, next, known); wait > 0 {
			p.line.Serving[i] = known.withhold(revision, next)
			after = soonest(after, wait)
			continue
		}
		written, err := w.writeStatus(ctx, revision, next, known)
		p.line.Serving[i] = written
		errs = append(errs, err)
	}
	return after, errors.Join(errs...)
}

// hold says how long the write of the target's status may wait. What ends a rollout, or
// stops it, is written at once. That a rollout has begun is in the status of the
// package; the revision, which has nothing more to report yet, gets it with the first
// details.
func (w *Worker) hold(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus, known *memory) time.Duration {
	if !isUnderWay(next) {
		return w.space(onRecord, next, known)
	}
	if equality.Semantic.DeepEqual(onRecord.Status, next) {
		return 0
	}
	patience := settle
	if len(onRecord.Status.Conditions) == 0 || isUnderWay(onRecord.Status) && onRecord.Status.Phase == next.Phase {
		patience = detailSettle
	}
	var spaced time.Duration
	if !hasProgressed(onRecord.Status, next) {
		patience = detailSettle
		spaced = min(known.spacings[onRecord.UID].wait(w.Now()), longestSettle)
	}
	return max(patience-w.Now().Sub(w.told(onRecord, known)), spaced, 0)
}

// hasProgressed says whether a rollout has moved on from one status to the next.
func hasProgressed(before, after v1alpha1.RevisionStatus) bool {
	return !before.LastProgressTime.Equal(after.LastProgressTime)
}

// space says how long a status may wait that is not about progress.
func (w *Worker) space(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus, known *memory) time.Duration {
	if equality.Semantic.DeepEqual(onRecord.Status, next) || known.spacings[onRecord.UID].isRevisionNews(onRecord, next) {
		return 0
	}
	return known.spacings[onRecord.UID].wait(w.Now())
}

// holdPackage is the same for the status of the package, which reports the rollout
// while the target's own status waits.
func (w *Worker) holdPackage(p *pass, known *memory) time.Duration {
	before, target := p.pkg.Status, p.line.Target
	c := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionProgressing)
	patience := settle
	if c != nil && c.Reason == v1alpha1.ReasonRollingOut && before.TargetRevision == target.Spec.Revision && before.Phase == target.Status.Phase {
		patience = detailSettle
	}
	since := w.told(target, known)
	if known.toldPackage.After(since) {
		since = known.toldPackage
	}
	return max(patience-w.Now().Sub(since), 0)
}

// told is when a revision's status was written last, or else when there was something
// to write first.
func (w *Worker) told(revision *v1alpha1.Revision, known *memory) time.Time {
	if at, wrote := known.wrote[revision.UID]; wrote {
		return at
	}
	if known.firstSeen[revision.UID].IsZero() {
		known.firstSeen[revision.UID] = w.Now()
	}
	return known.firstSeen[revision.UID]
}

// isUnderWay says that a status is about a rollout that goes on.
func isUnderWay(s v1alpha1.RevisionStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionProgressing)
	return c != nil && c.Reason == v1alpha1.ReasonRollingOut
}

// sameHealth says whether two statuses differ in no condition, but for its words.
func sameHealth(before, after v1alpha1.RevisionStatus) bool {
	return slices.EqualFunc(before.Conditions, after.Conditions, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
	})
}

// sameButForWords says whether two statuses differ in nothing but the words of
// conditions, which do not matter where all is well.
func sameButForWords(before, after v1alpha1.RevisionStatus) bool {
	if !sameHealth(before, after) || !meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionAvailable) {
		return false
	}
	after.Conditions = before.Conditions
	return equality.Semantic.DeepEqual(before, after)
}

// writeStatus writes a revision's status if it differs, and returns the revision
// with it. The content is not sent and not touched.
func (w *Worker) writeStatus(ctx context.Context, revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, known *memory) (*v1alpha1.Revision, error) {
	if equality.Semantic.DeepEqual(revision.Status, next) {
		known.onRecord(revision)
		return revision, nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta, Status: revision.Status}
	after := before.DeepCopy()
	after.Status = next
	if _, err := loop.PatchStatus(ctx, w.Client, before, after); err != nil {
		return revision, fmt.Errorf("revision %d: %w", revision.Spec.Revision, err)
	}
	known.wrote[revision.UID] = w.Now()
	spacing := known.spacings[revision.UID]
	known.spacings[revision.UID] = spacing.after(spacing.isRevisionNews(revision, next), progressReason(next.Conditions), w.Now())
	known.onRecord(after)
	return known.remember(revision, after), nil
}

// onRecord forgets what the status of a revision contains as well.
func (m *memory) onRecord(revision *v1alpha1.Revision) {
	delete(m.unwritten, revision.UID)
	if content.Holds(revision.Status, m.records[revision.UID]) {
		delete(m.records, revision.UID)
	}
}

// remember keeps what a write has returned, with the content that the cache has.
func (m *memory) remember(revision, answer *v1alpha1.Revision) *v1alpha1.Revision {
	written := &v1alpha1.Revision{ObjectMeta: answer.ObjectMeta, Spec: revision.Spec, Status: answer.Status}
	written.Spec.LifecycleState = answer.Spec.LifecycleState
	m.own.Wrote(written)
	return written
}

// withhold keeps a status that is not written yet, and returns the revision with it.
func (m *memory) withhold(revision *v1alpha1.Revision, next v1alpha1.RevisionStatus) *v1alpha1.Revision {
	m.unwritten[revision.UID] = next
	return m.latest(revision)
}

// latest is a revision with the status that it is to have, which may not be written yet.
func (m *memory) latest(revision *v1alpha1.Revision) *v1alpha1.Revision {
	next, held := m.unwritten[revision.UID]
	if !held {
		return revision
	}
	told := *revision
	told.Status = next
	return &told
}
