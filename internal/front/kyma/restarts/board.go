// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"maps"
	"slices"
	"time"
)

// phase is where a workload stands on a board.
type phase int

const (
	waiting phase = iota + 1
	// active workloads roll out, or are about to.
	active
	failed
	postponed
	skipped
	byHand
)

type row struct {
	entry  Entry
	phase  phase
	reason string
	// ours says that a restart of ours is what its rollout is about.
	ours bool
	// failing is why it has failed, and because what its pods show of that.
	failing, because string
	// told is what its last event said. Asked says that a user still has to act, as far as is
	// known: it is being looked at again.
	told  string
	asked bool
	// trouble is since when it cannot be read or written to, and broken since when it is not
	// whole. Zero while it can, and is.
	trouble, broken time.Time
}

// Board holds what there is to do, and lets no more be done at a time than allowed. A workload
// that does not come up after its restart stops the others of its namespace; one of the mesh
// itself, or failures in as many namespaces as workloads may roll out, stop all. It is not safe for
// concurrent use.
type Board struct {
	// Limit is how many workloads may roll out at a time, at least 1.
	Limit int

	rows     map[Workload]*row
	order    []Workload
	excluded int
	byHand   map[Workload]Hand
	unlisted int
	rest     bool
}

// Take replaces what there is to do by what a survey has found. Workloads that roll out, or
// do not come up, stay until that has ended, whatever was found of them. It hands back those
// for a person that were not known before.
func (b *Board) Take(p *Plan) []Hand {
	rows := map[Workload]*row{}
	var order []Workload
	for w, r := range b.rows {
		if r.phase == active || r.phase == failed {
			rows[w] = r
		}
	}
	for _, e := range p.Entries() {
		if kept := rows[e.Workload]; kept != nil {
			kept.entry = e
			continue
		}
		rows[e.Workload] = &row{entry: e, phase: waiting}
		if before := b.rows[e.Workload]; before != nil {
			now := rows[e.Workload]
			now.told, now.broken, now.reason = before.told, before.broken, before.reason
			now.asked = (before.asked || before.phase == byHand) && maps.Equal(before.entry.Causes, e.Causes)
		}
		order = append(order, e.Workload)
	}
	for w := range p.excluded {
		if kept := rows[w]; kept != nil {
			kept.entry.Excluded = true
		}
	}
	var news []Hand
	for w, hand := range p.byHand {
		if b.byHand[w] != hand {
			news = append(news, hand)
		}
	}
	slices.SortFunc(news, func(a, b Hand) int { return a.Workload.Compare(b.Workload) })
	b.rows, b.order, b.excluded, b.byHand, b.unlisted, b.rest = rows, order, len(p.excluded), p.byHand, p.unlisted, p.More || p.Unready > 0
	return news
}

// Resume takes in a workload that rolls out because of a restart by a process before this one.
func (b *Board) Resume(w Workload) {
	if b.rows == nil {
		b.rows = map[Workload]*row{}
	}
	b.rows[w] = &row{entry: Entry{Workload: w, Role: RoleOf(w)}, phase: active, ours: true}
}

// Reset forgets everything.
func (b *Board) Reset() { *b = Board{Limit: b.Limit} }

// Entry is what is known of a workload, and whether this process has restarted it. It is not
// found when there is nothing to do about it.
func (b *Board) Entry(w Workload) (e Entry, ours, found bool) {
	r, found := b.rows[w]
	if !found {
		return Entry{}, false, false
	}
	return r.entry, r.ours, true
}

// Next are the workloads to look at next, which count as rolling out from now on.
func (b *Board) Next() []Workload {
	failures, free := b.failuresBut(Workload{}), b.free()
	var next, later []Workload
	for _, w := range b.order {
		r := b.rows[w]
		switch {
		case r == nil || r.phase != waiting:
		case len(next) < free && !failures.stop(w):
			r.phase = active
			next = append(next, w)
		default:
			later = append(later, w)
		}
	}
	b.order = later
	return next
}

// free is how many more workloads may roll out. Each namespace with a failure takes a place.
func (b *Board) free() int {
	free := b.Limit - len(b.failuresBut(Workload{}).namespaces)
	for _, r := range b.rows {
		if r.phase == active {
			free--
		}
	}
	return max(free, 0)
}

// failures are workloads that do not come up after their restart.
type failures struct {
	namespaces map[string]bool
	// all says that no workload is restarted, wherever it is.
	all bool
}

// failuresBut are those besides one workload.
func (b *Board) failuresBut(w Workload) failures {
	f := failures{namespaces: map[string]bool{}}
	for other, r := range b.rows {
		if r.phase == failed && other != w {
			f.namespaces[other.Namespace] = true
			f.all = f.all || r.entry.Role.ofMesh()
		}
	}
	f.all = f.all || len(f.namespaces) > 0 && len(f.namespaces) >= b.Limit
	return f
}

// stop says whether failures keep a workload from being restarted.
func (f failures) stop(w Workload) bool { return f.all || f.namespaces[w.Namespace] }

// Because is why a workload has failed, with what its pods show of it. They are asked once for a
// reason: what they show changes with each of their tries.
func (b *Board) Because(w Workload, reason string, ask func() string) string {
	r := b.rows[w]
	if r == nil {
		return reason
	}
	if r.failing != reason || r.because == "" {
		r.failing, r.because = reason, ask()
	}
	if r.because == "" {
		return reason
	}
	return reason + ": " + r.because
}

// MayRestart says whether a workload may be restarted now; open says whether the window is.
// One that may not waits until it is among the next ones.
func (b *Board) MayRestart(w Workload, open bool) bool {
	r := b.rows[w]
	if r == nil {
		return false
	}
	if has := r.phase == active || r.phase == failed; open && !b.failuresBut(w).stop(w) && (has || b.free() > 0) {
		r.phase = active
		return true
	}
	r.asked = false // it needs its turn, and no person
	if r.phase != waiting {
		r.phase, r.ours = waiting, false
		b.order = append(b.order, w)
	}
	return false
}

// Trouble takes in that a workload cannot be read or written to now, and says for how long it
// could not.
func (b *Board) Trouble(w Workload, now time.Time) time.Duration {
	r := b.rows[w]
	if r == nil {
		return 0
	}
	if r.trouble.IsZero() {
		r.trouble = now
	}
	return now.Sub(r.trouble)
}

// Postpone says what becomes of a workload that is not whole. It waits until it is; when
// that takes longer than allowed, the decision asks a user to act.
func (b *Board) Postpone(w Workload, d Decision, now time.Time, allowed time.Duration) Decision {
	r := b.rows[w]
	if d.Action != Postpone || r == nil {
		return d
	}
	if r.broken.IsZero() {
		r.broken = now
	}
	if now.Sub(r.broken) < allowed {
		return d
	}
	return Decision{AskPerson, "it is restarted when it is whole: " + d.Reason}
}

// Settle takes in what was decided about a workload, and done. It says whether that is news.
func (b *Board) Settle(w Workload, d Decision) (news bool) {
	r := b.rows[w]
	if r == nil {
		return false
	}
	was := *r
	r.reason, r.asked = d.Reason, false
	if d.Action != Fail {
		r.trouble = time.Time{}
	}
	if d.Action != Postpone && d.Action != AskPerson {
		r.broken = time.Time{}
	}
	switch d.Action {
	case Settled:
		delete(b.rows, w)
		return true
	case Restart:
		r.phase, r.ours = active, true
	case Watch:
		r.phase, r.ours = active, true
	case Fail:
		r.phase, r.ours = failed, true
	case Postpone:
		r.phase, r.ours = postponed, false
	case Skip:
		r.phase, r.ours = skipped, false
	case AskPerson:
		r.phase, r.ours = byHand, false
		told := r.told
		r.told = r.reason
		return told != r.reason
	}
	return was.phase != r.phase || d.Action == Restart
}

// Idle says that nothing rolls out, and nothing waits for its turn.
func (b *Board) Idle() bool {
	for _, r := range b.rows {
		if r.phase == active || r.phase == failed || r.phase == waiting {
			return false
		}
	}
	return true
}

// Busy says that workloads roll out, or wait for their turn and no failure keeps them from it.
func (b *Board) Busy() bool {
	failures := b.failuresBut(Workload{})
	for w, r := range b.rows {
		if r.phase == active || r.phase == waiting && !failures.stop(w) {
			return true
		}
	}
	return false
}

// Leftover says that something is left that may change without news: workloads that are not
// whole, are excluded, or need a person.
func (b *Board) Leftover() bool { return len(b.rows)+len(b.byHand)+b.excluded > 0 || b.rest }

// Manual says that something needs a person.
func (b *Board) Manual() bool { return b.State().ManualCount > 0 }

// Unsettled says that something is left that may be restarted yet: workloads that are not
// whole, or were not found out about.
func (b *Board) Unsettled() bool {
	for _, r := range b.rows {
		if r.phase == postponed {
			return true
		}
	}
	return b.rest || !b.Idle()
}

// Rolling says whether a workload of a role was restarted, or is the next one to be, and is
// coming up.
func (b *Board) Rolling(role Role) bool {
	for _, r := range b.rows {
		if r.entry.Role == role && r.phase == active && !r.asked {
			return true
		}
	}
	return false
}

// Waits are what a workload of a role is outdated in that is to be restarted later, empty when none
// waits.
func (b *Board) Waits(role Role) string {
	for _, r := range b.rows {
		if r.entry.Role == role && (r.phase == waiting || r.phase == postponed) && !r.asked {
			return causesText(slices.Sorted(maps.Keys(r.entry.Causes)))
		}
	}
	return ""
}

// Has says that there is something to do about a workload of a role, or was and failed.
func (b *Board) Has(role Role) bool {
	for _, r := range b.rows {
		if r.entry.Role == role {
			return true
		}
	}
	return false
}

// Active are the workloads that roll out or do not come up, in order.
func (b *Board) Active() []Workload {
	var all []Workload
	for w, r := range b.rows {
		if r.phase == active || r.phase == failed {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, Workload.Compare)
	return all
}

// State is what the board shows.
func (b *Board) State() State {
	s := State{
		Known: true, Excluded: b.excluded, Stopped: b.failuresBut(Workload{}).all,
		GatewayRolling: b.Rolling(RoleGateway), EgressRolling: b.Rolling(RoleEgress),
		GatewayWaits: b.Waits(RoleGateway), EgressWaits: b.Waits(RoleEgress),
	}
	failing, manual := map[Workload]string{}, map[Workload]string{}
	for w, hand := range b.byHand {
		manual[w] = hand.Reason
	}
	var rolling []Workload
	for w, r := range b.rows {
		if r.asked {
			manual[w] = r.reason
			continue
		}
		switch r.phase {
		case waiting, postponed:
			s.Pending++
		case active:
			s.Pending++
			rolling = append(rolling, w)
		case failed:
			s.Pending++
			failing[w] = r.reason
		case skipped:
			if !r.entry.Excluded { // else the survey has counted it
				s.Excluded++
			}
		case byHand:
			manual[w] = r.reason
		}
	}
	slices.SortFunc(rolling, Workload.Compare)
	for _, w := range rolling[:min(len(rolling), mostTold)] {
		s.InProgress = append(s.InProgress, w.String())
	}
	s.Failed, s.Manual = told(failing, 0), told(manual, b.unlisted)
	s.FailedCount, s.ManualCount = len(failing), len(manual)+b.unlisted
	return s
}
