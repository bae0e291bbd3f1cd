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
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

const (
	// progressDelay is how long a status that reports a phase's progress may wait for more
	// of it, so that a quick rollout costs few writes.
	progressDelay = time.Second
	// detailDelay is the same for a status in which only details have changed, and for
	// the first one of a revision.
	detailDelay = 5 * time.Second
	// longestDelay bounds the wait of a status of a rollout that makes no progress: a probe
	// that changes its mind must not cost a write each time.
	longestDelay = 3 * detailDelay
)

// writeStatuses writes the statuses of the active revisions, or defers them for a
// moment when they report nothing but progress. On return the history has the new
// statuses, also those that are deferred.
func (p *pass) writeStatuses(ctx context.Context) (loop.Outcome, error) {
	onRecord := p.history.Target
	if onRecord == nil {
		// The client that has just made the package is about to make a revision.
		wait := max(2*progressDelay-p.Now().Sub(p.pkg.CreationTimestamp.Time), 0)
		return loop.Outcome{SkipStatus: wait > 0, After: wait}, nil
	}
	// Times of a status count from when they were noted first, not from when they were written.
	p.history.Target = p.state.latest(onRecord)
	next := status.ForTarget(p.history.Target, p.observation())
	wait := p.targetDelay(onRecord, next)
	written, targetErr := p.writeAfter(ctx, onRecord, next, wait)
	p.history.Target = written
	after, err := p.writeServing(ctx, wait > 0)
	err = errors.Join(targetErr, p.writeWaiting(ctx), err)
	if wait == 0 || p.hasSucceeded() {
		return loop.Outcome{After: soonest(after, wait)}, err
	}
	brief := p.packageDelay()
	if !hasProgressed(onRecord.Status, next) {
		brief = max(brief, wait)
	}
	return loop.Outcome{SkipStatus: brief > 0, After: soonest(after, soonest(brief, wait))}, err
}

// writeAfter writes a status, or defers it when it may wait.
func (p *pass) writeAfter(ctx context.Context, revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, wait time.Duration) (*v1alpha1.Revision, error) {
	if wait > 0 {
		return p.state.deferWrite(revision, next), nil
	}
	return p.writeStatus(ctx, revision, next)
}

// writeWaiting writes the statuses of the revisions that wait for approval.
func (p *pass) writeWaiting(ctx context.Context) error {
	var errs []error
	for i, revision := range p.history.Waiting {
		if i > 0 && !p.state.hasPlaced(revision) {
			continue // it is archived in this pass
		}
		next := status.ForWaiting(revision, p.decided.unapproved[revision.UID], p.history.Target.Spec.Revision, p.now)
		written, err := p.writeStatus(ctx, revision, next)
		p.history.Waiting[i] = written
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// writeServing writes the statuses of the older active revisions. While the target is
// rolled out they wait as its own does, unless their health has changed. It says when the
// first one that waits is due.
func (p *pass) writeServing(ctx context.Context, isDeferred bool) (after time.Duration, err error) {
	var errs []error
	archives := !p.decided.isPaused && p.isTargetKnown()
	for i, revision := range p.history.Serving {
		if archives && (p.hasSucceeded() || !history.Succeeded(revision) && !p.state.hasPlaced(revision)) {
			continue // it is archived in this pass
		}
		next := status.ForServing(p.state.latest(revision), p.rolled.serving[i], p.rolled.result.Serving[i], p.rolled.result.Serves, p.rolled.unloaded[revision.Spec.Revision], p.now)
		if isUnderWay(p.history.Target.Status) && (isDeferred && sameHealth(revision.Status, next) || sameButForWords(revision.Status, next)) {
			continue
		}
		wait := p.delay(revision, next)
		after = soonest(after, wait)
		written, err := p.writeAfter(ctx, revision, next, wait)
		p.history.Serving[i] = written
		errs = append(errs, err)
	}
	return after, errors.Join(errs...)
}

// targetDelay says how long the write of the target's status may wait. What ends a rollout, or
// stops it, is written at once. That a rollout has begun is in the status of the
// package; the revision, which has nothing more to report yet, gets it with the first
// details.
func (p *pass) targetDelay(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus) time.Duration {
	if !isUnderWay(next) {
		return p.delay(onRecord, next)
	}
	if equality.Semantic.DeepEqual(onRecord.Status, next) {
		return 0
	}
	patience, spaced := progressDelay, time.Duration(0)
	switch {
	case !hasProgressed(onRecord.Status, next):
		patience = detailDelay
		spaced = min(p.state.of(onRecord).spacing.wait(p.Now()), longestDelay)
	case len(onRecord.Status.Conditions) == 0, isUnderWay(onRecord.Status) && onRecord.Status.Phase == next.Phase:
		patience = detailDelay
	}
	return max(patience-p.Now().Sub(p.state.of(onRecord).spacing.since(p.Now())), spaced, 0)
}

// hasProgressed says whether a rollout has moved on from one status to the next.
func hasProgressed(before, after v1alpha1.RevisionStatus) bool {
	return !before.LastProgressTime.Equal(after.LastProgressTime)
}

// delay says how long a status may wait that is not about progress.
func (p *pass) delay(onRecord *v1alpha1.Revision, next v1alpha1.RevisionStatus) time.Duration {
	spacing := p.state.of(onRecord).spacing
	if equality.Semantic.DeepEqual(onRecord.Status, next) || spacing.isRevisionNews(onRecord, next) {
		return 0
	}
	return spacing.wait(p.Now())
}

// packageDelay is the same for the status of the package, which reports the rollout
// while the target's own status waits.
func (p *pass) packageDelay() time.Duration {
	before, target := p.pkg.Status, p.history.Target
	patience := progressDelay
	if progressReason(before.Conditions) == v1alpha1.ReasonRollingOut && before.TargetRevision == target.Spec.Revision && before.Phase == target.Status.Phase {
		patience = detailDelay
	}
	since := p.state.of(target).spacing.since(p.Now())
	if p.state.spacing.last.After(since) {
		since = p.state.spacing.last
	}
	return max(patience-p.Now().Sub(since), 0)
}

// isUnderWay says that a status is about a rollout that goes on.
func isUnderWay(s v1alpha1.RevisionStatus) bool {
	return progressReason(s.Conditions) == v1alpha1.ReasonRollingOut
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
func (p *pass) writeStatus(ctx context.Context, revision *v1alpha1.Revision, next v1alpha1.RevisionStatus) (*v1alpha1.Revision, error) {
	if equality.Semantic.DeepEqual(revision.Status, next) {
		p.state.onRecord(revision)
		return revision, nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta, Status: revision.Status}
	after := before.DeepCopy()
	after.Status = next
	if _, err := loop.PatchStatus(ctx, p.Client, before, after); err != nil {
		return revision, fmt.Errorf("revision %d: %w", revision.Spec.Revision, err)
	}
	state := p.state.of(revision)
	state.spacing = state.spacing.after(state.spacing.isRevisionNews(revision, next), progressReason(next.Conditions), p.Now())
	p.state.onRecord(after)
	return p.wrote(revision, after), nil
}
