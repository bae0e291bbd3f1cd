// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

const (
	// settle is how long a status that tells of a phase's progress may wait for more
	// of it, so that a quick rollout costs few writes.
	settle = time.Second
	// detailSettle is the same for a status in which only details have changed.
	detailSettle = 5 * time.Second
)

// persist writes the statuses of the active revisions, or holds them back for a
// moment when they tell of nothing but progress. On return the line has the new
// statuses.
func (w *Worker) persist(ctx context.Context, p *pass, known *memory) (loop.Outcome, error) {
	target := p.line.Target
	if target == nil {
		// Whoever has just made the package is about to make a revision.
		wait := max(2*settle-w.Now().Sub(p.pkg.CreationTimestamp.Time), 0)
		return loop.Outcome{Hold: wait > 0, After: wait}, nil
	}
	next := status.ForTarget(target, p.observation())
	if wait := w.hold(target, next, known); wait > 0 {
		return loop.Outcome{Hold: true, After: wait}, nil
	}
	var errs []error
	written, err := w.writeStatus(ctx, target, next, known)
	p.line.Target = written
	errs = append(errs, err)
	for i, revision := range p.line.Waiting {
		if i > 0 && !known.hasPlaced(revision) {
			continue // it is archived in this pass
		}
		next := status.ForWaiting(revision, w.withheld(ctx, p.pkg, p.line, revision, known), target.Spec.Revision, p.now)
		written, err := w.writeStatus(ctx, revision, next, known)
		p.line.Waiting[i] = written
		errs = append(errs, err)
	}
	for i, revision := range p.line.Serving {
		if !p.isPaused && p.isTargetKnown() && !history.Succeeded(revision) && !known.hasPlaced(revision) {
			continue // it is archived in this pass
		}
		next := status.ForServing(revision, p.serving[i], p.result.Serving[i], p.result.Serves, p.unloaded[revision.Spec.Revision], p.now)
		written, err := w.writeStatus(ctx, revision, next, known)
		p.line.Serving[i] = written
		errs = append(errs, err)
	}
	return loop.Outcome{}, errors.Join(errs...)
}

// hold says how long a status may wait. What ends a rollout, or stops it, is
// never held back.
func (w *Worker) hold(revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, known *memory) time.Duration {
	if equality.Semantic.DeepEqual(revision.Status, next) {
		return 0
	}
	now := w.Now()
	since, wrote := known.wrote[revision.UID]
	if !wrote {
		if known.firstSeen[revision.UID].IsZero() {
			known.firstSeen[revision.UID] = now
		}
		since = known.firstSeen[revision.UID]
	}
	progressing := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionProgressing)
	if progressing == nil || progressing.Reason != v1alpha1.ReasonRollingOut {
		return 0
	}
	patience := settle
	if revision.Status.Phase == next.Phase {
		patience = detailSettle
	}
	return max(patience-now.Sub(since), 0)
}

// writeStatus writes a revision's status if it differs, and returns the revision
// with it. The content is not sent and not touched.
func (w *Worker) writeStatus(ctx context.Context, revision *v1alpha1.Revision, next v1alpha1.RevisionStatus, known *memory) (*v1alpha1.Revision, error) {
	if equality.Semantic.DeepEqual(revision.Status, next) {
		return revision, nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta, Status: revision.Status}
	after := before.DeepCopy()
	after.Status = next
	if _, err := loop.PatchStatus(ctx, w.Client, before, after); err != nil {
		return revision, fmt.Errorf("revision %d: %w", revision.Spec.Revision, err)
	}
	known.wrote[revision.UID] = w.Now()
	return known.remember(revision, after), nil
}

// remember keeps what a write has returned, with the content that the cache has.
func (m *memory) remember(revision, answer *v1alpha1.Revision) *v1alpha1.Revision {
	written := &v1alpha1.Revision{ObjectMeta: answer.ObjectMeta, Spec: revision.Spec, Status: answer.Status}
	written.Spec.LifecycleState = answer.Spec.LifecycleState
	m.own.Wrote(written)
	return written
}
