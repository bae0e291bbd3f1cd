// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

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

// countOutcome counts how a rollout has ended, and how long it took.
func countOutcome(m *Metrics, c Change) {
	if outcome := c.outcome(); outcome != "" {
		m.rollouts.WithLabelValues(outcome).Observe(max(0, m.now().Sub(c.After.CreationTimestamp.Time)).Seconds())
	}
}

func countPhases(m *Metrics, c Change) {
	for name, took := range c.completed() {
		m.phases.WithLabelValues(m.phaseNames.value(name)).Observe(took.Seconds())
	}
}

func countFailures(m *Metrics, c Change) {
	for _, object := range c.failing() {
		m.failures.WithLabelValues(c.Package.Name, m.kinds.value(object.Kind)).Inc()
	}
}

func countFlaps(m *Metrics, c Change) {
	if times := flapped(c.After) - flapped(c.Before); times > 0 {
		m.conflict("", v1alpha1.InterferenceFlapping, times)
	}
}

func countCollisions(m *Metrics, c Change) {
	if found := len(c.newly(objectCollision)); found > 0 {
		m.collisions.WithLabelValues(c.Package.Name).Add(float64(found))
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

// outcome is how the rollout has ended, empty when it has not, or had before.
func (c Change) outcome() string {
	was, is := reasonOf(c.Before), reasonOf(c.After)
	switch ends := history.ReasonOf(is).IsEnd && !history.ReasonOf(was).IsEnd; {
	case history.Succeeded(c.Before):
		return ""
	case history.Succeeded(c.After):
		return outcomeSucceeded
	case ends && isRejected(c.Package, c.After):
		return outcomeRolledBack
	case ends:
		return outcomeSuperseded
	case is == v1alpha1.ReasonProgressDeadlineExceeded && was != is:
		return outcomeFailed
	}
	return ""
}

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
func (c Change) completed() map[string]time.Duration {
	if history.Succeeded(c.Before) {
		return nil
	}
	known := map[string]bool{}
	for _, phase := range c.Before.Status.Phases {
		known[phase.Name] = phase.State == v1alpha1.PhaseComplete
	}
	took := map[string]time.Duration{}
	since := c.After.CreationTimestamp
	for _, phase := range c.After.Status.Phases {
		if phase.State != v1alpha1.PhaseComplete || phase.CompletedAt == nil {
			break
		}
		if !known[phase.Name] {
			took[phase.Name] = max(0, phase.CompletedAt.Sub(since.Time))
		}
		if phase.CompletedAt.After(since.Time) {
			since = *phase.CompletedAt
		}
	}
	return took
}
