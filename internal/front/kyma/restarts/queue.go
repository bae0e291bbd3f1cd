// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// stage is where a workload of a queue stands.
type stage int

const (
	// waiting for its turn.
	waiting stage = iota
	// checking: its turn has come, and it counts as rolling out until it is decided about.
	checking
	// decided, see the decision.
	decided
)

// item is a workload of a queue.
type item struct {
	Outdated

	stage stage
	// decision is the last one. One that needs a user stays while the workload waits and is checked again.
	decision Decision
	// reported is the reason of the last event that asked for a user.
	reported string
	// err is why it cannot be read or written to, and errSince since when; incompleteSince is since
	// when its own rollout is not complete.
	err                       error
	errSince, incompleteSince time.Time
	// failure is the last reason of its failure, and shown what its pods showed of that.
	failure, shown string
}

func (i *item) failed() bool { return i.stage == decided && i.decision.Action == Fail }

// restarted says that its rollout is about a restart that the controller has begun or resumed.
func (i *item) restarted() bool {
	return i.decision.Action == Restart || i.decision.Action == Watch || i.decision.Action == Fail
}

func (i *item) rolling() bool {
	return i.stage == checking || i.stage == decided && i.restarted() && !i.failed()
}

func (i *item) needsUser() bool { return i.decision.Action == NeedsUser }

// queue has the workloads that are to be restarted, and lets no more of them roll out at a time
// than its limit. A workload that does not come up after its restart stops the others of its namespace;
// one of the mesh itself, or failures in as many namespaces as the limit, stop all. What has to outlive
// the process stands in the annotations of workloads. It is not safe for concurrent use.
type queue struct {
	// limit is how many workloads may roll out at a time, at least 1.
	limit int
	items map[Workload]*item
	// found is the last survey.
	found Survey
}

// take replaces the items by what a survey has found. Workloads that roll out, or do not come up,
// stay until that has ended. It returns those for a user that were not known before.
func (q *queue) take(s *Survey) []Manual {
	items := map[Workload]*item{}
	for w, i := range q.items {
		if i.rolling() || i.failed() {
			items[w] = i
		}
	}
	for w, found := range s.outdated {
		if kept := items[w]; kept != nil {
			kept.Outdated = *found
			continue
		}
		items[w] = &item{Outdated: *found}
		if before := q.items[w]; before != nil {
			items[w].reported, items[w].incompleteSince = before.reported, before.incompleteSince
			if before.needsUser() && maps.Equal(before.Causes, found.Causes) {
				items[w].decision = before.decision
			}
		}
	}
	for w := range s.excluded {
		if kept := items[w]; kept != nil {
			kept.Excluded = true
		}
	}
	var news []Manual
	for w, m := range s.manual {
		if q.found.manual[w] != m {
			news = append(news, m)
		}
	}
	slices.SortFunc(news, func(a, b Manual) int { return a.Workload.Compare(b.Workload) })
	q.items, q.found = items, *s
	return news
}

// resume takes in a workload that rolls out because of a restart by a process before this one.
func (q *queue) resume(w Workload) {
	if q.items == nil {
		q.items = map[Workload]*item{}
	}
	q.items[w] = &item{Outdated: Outdated{Workload: w, Role: RoleOf(w)}, stage: decided, decision: Decision{Action: Watch}}
}

// next are the workloads to check next, which count as rolling out from now on.
func (q *queue) next() []Workload {
	var next []Workload
	failures := q.failures(Workload{})
	for w, i := range q.items {
		if i.stage == waiting && !failures.stop(w) {
			next = append(next, w)
		}
	}
	slices.SortFunc(next, func(a, b Workload) int { return q.items[a].Compare(q.items[b].Outdated) })
	next = next[:min(len(next), q.free())]
	for _, w := range next {
		q.items[w].stage = checking
	}
	return next
}

// free is how many more workloads may roll out. Each namespace with a failure takes a place.
func (q *queue) free() int {
	free := q.limit - len(q.failures(Workload{}).namespaces)
	for _, i := range q.items {
		if i.rolling() {
			free--
		}
	}
	return max(free, 0)
}

// failures are the namespaces of workloads that do not come up after their restart.
type failures struct {
	namespaces map[string]bool
	// all says that no workload is restarted, wherever it is.
	all bool
}

// failures are those besides one workload.
func (q *queue) failures(besides Workload) failures {
	f := failures{namespaces: map[string]bool{}}
	for w, i := range q.items {
		if i.failed() && w != besides {
			f.namespaces[w.Namespace] = true
			f.all = f.all || i.Role.ofMesh()
		}
	}
	f.all = f.all || len(f.namespaces) > 0 && len(f.namespaces) >= q.limit
	return f
}

// stop says whether failures keep a workload from being restarted.
func (f failures) stop(w Workload) bool { return f.all || f.namespaces[w.Namespace] }

// mayRestart says whether a workload may be restarted now; open says whether any may. One that may
// not waits for its turn.
func (q *queue) mayRestart(w Workload, open bool) bool {
	i := q.items[w]
	if i == nil {
		return false
	}
	if open && !q.failures(w).stop(w) && (i.rolling() || i.failed() || q.free() > 0) {
		i.stage = checking
		return true
	}
	i.stage, i.decision = waiting, Decision{}
	return false
}

// explain adds to why a workload has failed what its pods show. They are read once for a reason,
// as what they show changes with each of their tries.
func (i *item) explain(reason string, read func() string) string {
	if i.failure != reason || i.shown == "" {
		i.failure, i.shown = reason, read()
	}
	if i.shown == "" {
		return reason
	}
	return reason + ": " + i.shown
}

// fail records that a workload cannot be read or written to now, and returns for how long.
func (i *item) fail(err error, now time.Time) time.Duration {
	if i.err = err; i.errSince.IsZero() {
		i.errSince = now
	}
	return now.Sub(i.errSince)
}

// record records what was decided about a workload, and says whether that is worth an event. One
// whose own rollout is incomplete for longer than allowed needs a user.
func (q *queue) record(w Workload, d Decision, now time.Time, allowed time.Duration) (Decision, bool) {
	i := q.items[w]
	if i == nil {
		return d, false
	}
	if d.Action == Postpone {
		if i.incompleteSince.IsZero() {
			i.incompleteSince = now
		}
		if now.Sub(i.incompleteSince) >= allowed {
			d = Decision{NeedsUser, "it is restarted once it is ready: " + d.Reason}
		}
	} else if d.Action != NeedsUser {
		i.incompleteSince = time.Time{}
	}
	if i.err = nil; d.Action != Fail {
		i.errSince = time.Time{}
	}
	failed := i.failed()
	i.stage, i.decision = decided, d
	switch d.Action {
	case Finish:
		delete(q.items, w)
	case Restart:
		return d, true
	case Fail:
		return d, !failed
	case NeedsUser:
		known := i.reported == d.Reason
		i.reported = d.Reason
		return d, !known
	default:
		// It is no news.
	}
	return d, false
}

func (q *queue) any(is func(*item) bool) bool {
	for _, i := range q.items {
		if is(i) {
			return true
		}
	}
	return false
}

// idle says that nothing rolls out, and nothing waits for its turn.
func (q *queue) idle() bool {
	return !q.any(func(i *item) bool { return i.stage == waiting || i.rolling() || i.failed() })
}

// busy says that workloads roll out, or wait for their turn and no failure keeps them from it.
func (q *queue) busy() bool {
	failures := q.failures(Workload{})
	return q.any(func(i *item) bool { return i.rolling() || i.stage == waiting && !failures.stop(i.Workload) })
}

// remaining says that workloads are left whose state may change without an event: those that are
// not complete, are excluded, or need a user.
func (q *queue) remaining() bool {
	return len(q.items)+len(q.found.manual)+len(q.found.excluded) > 0 || q.found.incomplete()
}

// unfinished says that something is left that may be restarted yet.
func (q *queue) unfinished() bool {
	return q.found.incomplete() || !q.idle() || q.any(func(i *item) bool { return i.decision.Action == Postpone })
}

// state is what the queue shows.
func (q *queue) state() State {
	s := State{Excluded: len(q.found.excluded), Stopped: q.failures(Workload{}).all}
	failed, manual := map[Workload]string{}, map[Workload]string{}
	for w, m := range q.found.manual {
		manual[w] = m.Reason
	}
	var rolling []Workload
	for w, i := range q.items {
		switch i.Role {
		case RoleGateway:
			s.Gateway.add(i)
		case RoleEgress:
			s.Egress.add(i)
		case RoleComponent, RoleModule, RoleCustomer:
		}
		switch {
		case i.needsUser():
			manual[w] = i.decision.Reason
			continue
		case i.rolling():
			rolling = append(rolling, w)
		case i.failed():
			failed[w] = i.decision.Reason
		case i.decision.Action == Skip && i.stage == decided:
			if !i.Excluded { // else the survey has counted it
				s.Excluded++
			}
			continue
		}
		s.Pending++
	}
	slices.SortFunc(rolling, Workload.Compare)
	for _, w := range rolling[:min(len(rolling), maxListed)] {
		s.InProgress = append(s.InProgress, w.String())
	}
	s.Failed, s.Manual = grouped(failed, 0), grouped(manual, q.found.unlisted)
	s.FailedCount, s.ManualCount = len(failed), len(manual)+q.found.unlisted
	return s
}

// add takes in a workload of the gateway.
func (g *GatewayState) add(i *item) {
	switch {
	case i.err != nil:
		g.Err = i.err
	case i.needsUser() || i.failed():
		g.Err = fmt.Errorf("%s: %s", i.Workload, i.decision.Reason)
	}
	switch {
	case i.needsUser():
	case i.rolling():
		g.Rolling = true
	case i.stage == waiting || i.decision.Action == Postpone:
		g.Waits = causesText(slices.Sorted(maps.Keys(i.Causes)))
	}
}
