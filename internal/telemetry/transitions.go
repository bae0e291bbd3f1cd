// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// The outcomes of rollouts.
const (
	outcomeSucceeded  = "succeeded"
	outcomeFailed     = "failed"
	outcomeSuperseded = "superseded"
	outcomeRolledBack = "rolledback"
)

// Moved takes in what has changed from one status of a revision to the next, after
// that was written.
func (m *Metrics) Moved(pkg *v1alpha1.Package, before, after *v1alpha1.Revision) {
	if outcome := outcomeOf(pkg, before, after); outcome != "" {
		m.rollouts.WithLabelValues(outcome).Observe(max(0, m.now().Sub(after.CreationTimestamp.Time)).Seconds())
	}
	for name, took := range completed(before, after) {
		m.phases.WithLabelValues(m.phaseNames.value(name)).Observe(took.Seconds())
	}
	for _, object := range failing(before, after) {
		m.failures.WithLabelValues(pkg.Name, m.kinds.value(object.Kind)).Inc()
	}
	if times := flapped(before); flapped(after) > times {
		m.conflict("", v1alpha1.InterferenceFlapping, flapped(after)-times)
	}
	if found := len(newly(before, after, objectCollision)); found > 0 {
		m.collisions.WithLabelValues(pkg.Name).Add(float64(found))
	}
}

// flapped is how many times the objects of a revision have ceased to be ready.
func flapped(revision *v1alpha1.Revision) int64 {
	var times int64
	for _, flap := range revision.Status.Flaps {
		times += flap.Count
	}
	return times
}

// outcomeOf is how the rollout of a revision has ended in a change of its status, empty
// when it has not, or had before.
func outcomeOf(pkg *v1alpha1.Package, before, after *v1alpha1.Revision) string {
	switch {
	case history.Succeeded(before):
		return ""
	case history.Succeeded(after):
		return outcomeSucceeded
	}
	was, is := reasonOf(before), reasonOf(after)
	switch {
	case isEnd(is) && !isEnd(was) && isRejected(pkg, after):
		return outcomeRolledBack
	case isEnd(is) && !isEnd(was):
		return outcomeSuperseded
	case is == v1alpha1.ReasonProgressDeadlineExceeded && was != is:
		return outcomeFailed
	}
	return ""
}

// isEnd says that a revision with a reason is not rolled out any more.
func isEnd(reason string) bool { return history.ReasonOf(reason).IsEnd }

// isRejected says that the last rollback was away from a revision.
func isRejected(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	for _, back := range []*v1alpha1.RollbackStatus{pkg.Status.Rollback, pkg.Status.AutomaticRollback} {
		if back != nil && back.Revision != 0 && back.FromRevision == revision.Spec.Revision {
			return true
		}
	}
	return false
}

// completed says how long the phases took that have been completed in a rollout.
func completed(before, after *v1alpha1.Revision) map[string]time.Duration {
	if history.Succeeded(before) {
		return nil
	}
	known := map[string]bool{}
	for _, phase := range before.Status.Phases {
		known[phase.Name] = phase.State == v1alpha1.PhaseComplete
	}
	took := map[string]time.Duration{}
	since := after.CreationTimestamp
	for _, phase := range after.Status.Phases {
		if phase.State != v1alpha1.PhaseComplete || phase.CompletedAt == nil {
			break
		}
		if !known[phase.Name] {
			took[phase.Name] = max(0, phase.CompletedAt.Sub(since.Time))
		}
		since = later(since, *phase.CompletedAt)
	}
	return took
}

func later(a, b metav1.Time) metav1.Time {
	if b.After(a.Time) {
		return b
	}
	return a
}
