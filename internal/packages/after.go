// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// after says when the next pass is due without an event: when a pause, a soak or the
// deadline ends, when the next repair of an object that another manager keeps
// changing is due, and at intervals for what causes no event.
func (p *pass) after() time.Duration {
	var after time.Duration
	if p.decided.pause != nil && p.decided.pause.Until != nil {
		after = soonest(after, p.decided.pause.Until.Sub(p.now.Time))
	}
	after = soonest(soonest(after, p.untilJudged()), p.state.uncollected)
	p.eachObject(func(object revisions.ObjectResult) {
		if !object.Retry.IsZero() {
			after = soonest(after, max(object.Retry.Sub(p.now.Time), time.Second))
		}
	})
	if p.history.Target != nil {
		after = soonest(after, status.FlappingLeft(p.history.Target.Status, p.now.Time))
	}
	if isPreflight(p.rolled.err) {
		after = soonest(after, max(p.state.checked.again.Sub(p.now.Time), time.Second))
	}
	if len(p.history.Waiting) > 0 && history.Succeeded(p.history.Target) {
		after = soonest(after, progressDelay) // it is the turn of what waits
	}
	if !p.waitsSilently() {
		p.state.waits = 0
		return after
	}
	p.state.waits++
	return soonest(after, waitDelay(p.state.waits))
}

// untilJudged is how long until the soak or the deadline of the target ends, 0 when
// neither does.
func (p *pass) untilJudged() time.Duration {
	target := p.history.Target
	if target == nil || history.Succeeded(target) || p.decided.pause != nil || p.awaits() != "" {
		return 0
	}
	switch o := p.observation(); {
	case p.rolled.err != nil && p.pkg.Spec.OnFailure != v1alpha1.FailureRollback:
		return 0
	case p.rolled.result.Target.Complete():
		return status.SoakLeft(target.Status, o.Soak, p.now.Time)
	case o.Deadline > 0:
		return soonest(status.DeadlineLeft(target.Status, o.Deadline, p.now.Time), status.DueLeft(target.Status, p.now.Time))
	default:
		return status.DueLeft(target.Status, p.now.Time)
	}
}

// waitsSilently says whether an object waits for something that no watch shows: a
// kind to be served, a deletion to end, an object of another owner that cannot be
// watched.
func (p *pass) waitsSilently() bool {
	if len(p.history.Archiving) > 0 && !p.decided.isPaused || p.rolled.unwatched != nil {
		return true
	}
	silent := false
	for _, phase := range p.rolled.result.Target.Phases {
		for _, object := range phase.Objects {
			waits := object.Waiting != "" && object.Retry.IsZero() && p.decided.pause == nil && p.awaits() == ""
			silent = silent || waits
		}
	}
	return silent
}

// eachObject calls do for every object that the pass has read.
func (p *pass) eachObject(do func(object revisions.ObjectResult)) {
	for _, revision := range append([]revisions.RevisionResult{p.rolled.result.Target}, p.rolled.result.Serving...) {
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				do(object)
			}
		}
	}
}

// waitDelay grows from a second to a minute.
func waitDelay(times int) time.Duration {
	return min(time.Second<<min(times-1, 10), time.Minute)
}
