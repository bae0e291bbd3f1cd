// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/pods"
)

// fleet plays workloads that roll out when they are restarted.
type fleet struct {
	random   *rand.Rand
	now      time.Time
	live     map[Workload]*Current
	restarts map[Workload]int
	// left is how many looks a rollout still takes; one that is broken never ends.
	left   map[Workload]int
	broken map[Workload]bool
	// stale workloads stay outdated whatever is done.
	stale map[Workload]bool
	// change is the newest change, and seen the one that pods are of.
	change string
	seen   map[Workload]string
}

func newFleet(seed uint64, size int) *fleet {
	f := &fleet{
		random: rand.New(rand.NewPCG(seed, 1)), now: made, change: "e1", live: map[Workload]*Current{}, restarts: map[Workload]int{},
		left: map[Workload]int{}, broken: map[Workload]bool{}, stale: map[Workload]bool{}, seen: map[Workload]string{},
	}
	for i := range size {
		w := Workload{KindDeployment, fmt.Sprintf("n%d", i%7), fmt.Sprintf("w%03d", i)}
		f.live[w] = &Current{Found: true, Excluded: f.random.IntN(12) == 0, Rollout: pods.Rollout{Done: f.random.IntN(9) > 0}}
		f.stale[w] = f.random.IntN(15) == 0
	}
	return f
}

// survey is what a survey of all pods finds.
func (f *fleet) survey() *Survey {
	p := NewSurvey()
	for w := range f.live {
		if f.seen[w] == f.change && !f.stale[w] {
			continue
		}
		o := Outdated{Workload: w, Role: RoleOf(w), Newest: made, Causes: map[Cause]string{CauseProxyImage: f.change}}
		if f.restarts[w] > 0 && f.left[w] == 0 {
			o.Newest = f.now
		}
		p.Add(o)
	}
	return p
}

// look decides about a workload, and does it.
func (f *fleet) look(t *testing.T, b *queue, w Workload) {
	i := b.items[w]
	if i == nil {
		return
	}
	live := f.live[w]
	d := Decide(i.Outdated, *live, i.restarted(), f.now, time.Hour)
	if d.Action == Restart {
		if !b.mayRestart(w, true) {
			return
		}
		if live.Excluded || !live.Rollout.Done {
			t.Fatalf("%s is restarted, and must not be: %+v", w, live)
		}
		live.Record = live.Record.With(i.Causes, live.Template, f.now)
		f.restarts[w]++
		f.left[w], live.Rollout = 1+f.random.IntN(4), pods.Rollout{Progress: "rolling"}
	}
	b.record(w, d, made, hour)
}

// active are the workloads that roll out or do not come up, in order.
func (q *queue) active() []Workload {
	var all []Workload
	for w, i := range q.items {
		if i.rolling() || i.failed() {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, Workload.Compare)
	return all
}

// step lets time pass.
func (f *fleet) step() {
	f.now = f.now.Add(time.Second)
	for w, left := range f.left {
		switch live := f.live[w]; {
		case left == 0:
		case f.broken[w]:
			live.Rollout.Failed = "it is broken"
		default:
			f.left[w]--
			if f.left[w] == 0 {
				live.Rollout, f.seen[w] = pods.Rollout{Done: true}, live.Record.Causes[CauseProxyImage]
			}
		}
	}
}

// play goes on until nothing is left to do, and checks each step.
func (f *fleet) play(t *testing.T, b *queue) {
	t.Helper()
	for range 10_000 {
		next := append(b.next(), b.active()...)
		f.random.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		for _, w := range next {
			f.look(t, b, w)
		}
		rolling := 0
		for _, left := range f.left {
			if left > 0 {
				rolling++
			}
		}
		if rolling > b.limit {
			t.Fatalf("%d workloads roll out at a time, allowed are %d", rolling, b.limit)
		}
		if b.idle() {
			return
		}
		f.step()
	}
	t.Fatal("it does not end")
}

// Whatever the fleet, each cause restarts each workload once, and no more roll out at a
// time than allowed.
func TestQueue_OncePerCause(t *testing.T) {
	for seed := range uint64(60) {
		f := newFleet(seed, 80)
		b := &queue{limit: 1 + int(seed%6)}
		for change := 1; change <= 3; change++ {
			f.change = fmt.Sprintf("e%d", change)
			for range 3 { // surveys without news restart nothing
				b.take(f.survey())
				f.play(t, b)
			}
			for w, live := range f.live {
				want := change
				if live.Excluded || f.restarts[w] == 0 && !live.Rollout.Done {
					want = 0
				}
				if f.restarts[w] != want {
					t.Fatalf("seed %d: %s was restarted %d times by %d changes, want %d: %+v", seed, w, f.restarts[w], change, want, live)
				}
			}
		}
		s, excluded, postponed, stale := b.state(), 0, 0, 0
		for w, live := range f.live {
			switch {
			case live.Excluded:
				excluded++
			case !live.Rollout.Done:
				postponed++
			case f.stale[w]:
				stale++
			}
		}
		if s.Excluded != excluded || s.Pending != postponed || s.ManualCount != stale {
			t.Errorf("seed %d: the state does not tell of all: %+v", seed, s)
		}
	}
}

// A board in the middle of it can be lost: what workloads record is enough.
func TestQueue_Lost(t *testing.T) {
	for seed := range uint64(40) {
		f := newFleet(seed, 60)
		b := &queue{limit: 3}
		b.take(f.survey())
		for range int(seed) {
			for _, w := range append(b.next(), b.active()...) {
				f.look(t, b, w)
			}
			f.step()
		}
		b = &queue{limit: 3}
		for w, live := range f.live {
			if live.Unfinished() {
				b.resume(w)
			}
		}
		b.take(f.survey())
		f.play(t, b)
		for w, n := range f.restarts {
			if n > 1 {
				t.Fatalf("seed %d: %s was restarted %d times for one cause", seed, w, n)
			}
		}
	}
}

// A workload that does not come up stops the others of its namespace until it does. One of the
// mesh, or failures in as many namespaces as workloads may roll out, stop all.
func TestQueue_StopsOnFailure(t *testing.T) {
	gateway := Workload{KindDeployment, istioNamespace, ingressGateway}
	for name, tc := range map[string]struct {
		reason string
		bad    []Workload
		all    bool
	}{
		"OneNamespace":   {reason: "one tenant keeps only itself from restarts", bad: []Workload{{KindDeployment, "n3", "w003"}, {KindDeployment, "n3", "w010"}}},
		"Mesh":           {reason: "the mesh itself does not work", bad: []Workload{gateway}, all: true},
		"ManyNamespaces": {reason: "the cause is no tenant's", bad: []Workload{{KindDeployment, "n0", "w000"}, {KindDeployment, "n1", "w001"}, {KindDeployment, "n2", "w002"}}, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(1, 40)
			f.live[gateway] = &Current{Found: true, Rollout: pods.Rollout{Done: true}}
			for w, live := range f.live {
				live.Excluded, live.Rollout.Done, f.stale[w] = false, true, false
			}
			failing := map[string]bool{}
			for _, w := range tc.bad {
				f.broken[w], failing[w.Namespace] = true, true
			}
			b := &queue{limit: 3}
			b.take(f.survey())
			pass := func() {
				for _, w := range append(b.next(), b.active()...) {
					f.look(t, b, w)
				}
				f.step()
			}
			for range 200 {
				pass()
			}
			s := b.state()
			left := 0
			for w := range f.live {
				if f.restarts[w] == 0 {
					left++
				}
				if f.restarts[w] == 0 && !tc.all && !failing[w.Namespace] {
					t.Errorf("%s: %s was not restarted", tc.reason, w)
				}
			}
			if left == 0 || s.FailedCount == 0 || s.Stopped != tc.all || b.busy() {
				t.Fatalf("%s: %d were not restarted, and the state is %+v", tc.reason, left, s)
			}
			b.take(f.survey()) // a survey does not make a failure forgotten
			for _, w := range b.next() {
				t.Errorf("%s: a survey lets %s be restarted", tc.reason, w)
			}
			clear(f.broken)
			f.play(t, b)
			if len(f.restarts) != len(f.live) || len(b.state().Failed) > 0 {
				t.Errorf("%s: after all have come up, %d of %d are restarted: %+v", tc.reason, len(f.restarts), len(f.live), b.state())
			}
		})
	}
}

// What pods show of a failure is asked for once: it changes all the time.
func TestQueue_Explain(t *testing.T) {
	b := &queue{limit: 1}
	b.resume(cart)
	asked := 0
	shown := []string{"", "Pod a: quota", "Pod b: quota", "Pod c: gone"}
	because := func(reason string) string {
		return b.items[cart].explain(reason, func() string { asked++; return shown[asked-1] })
	}
	for i, want := range []string{"0 of 2", "0 of 2: Pod a: quota", "0 of 2: Pod a: quota"} {
		if got := because("0 of 2"); got != want {
			t.Errorf("time %d it is %q, want %q", i, got, want)
		}
	}
	if got := because("1 of 2"); got != "1 of 2: Pod b: quota" || asked != 3 {
		t.Errorf("of another reason it is %q, asked %d times", got, asked)
	}
}

// Gateways come first, then what belongs to Kyma, and customers last.
func TestQueue_Order(t *testing.T) {
	p := NewSurvey()
	for i, role := range []Role{RoleCustomer, RoleModule, RoleGateway, RoleComponent} {
		p.Add(Outdated{Role: role, Workload: Workload{KindDeployment, "n", fmt.Sprint(i)}, Causes: map[Cause]string{CauseCNI: "a"}})
	}
	b := &queue{limit: 10}
	b.take(p)
	got := ""
	for _, w := range b.next() {
		got += w.Name
	}
	if got != "2310" {
		t.Errorf("the order is %s, want 2310", got)
	}
}

// What a person has to see to is bounded, and so is a plan.
func TestSurvey_Bounded(t *testing.T) {
	p := NewSurvey()
	for i := range 3000 {
		name := fmt.Sprint(i)
		p.AddManual(Manual{Workload: Workload{"Job", "n", name}, Reason: "by hand"})
		p.Add(Outdated{Workload: Workload{KindDeployment, "n", name}, Causes: map[Cause]string{CauseCNI: "a"}})
		p.Add(Outdated{Workload: Workload{KindDaemonSet, "n", name}, Causes: map[Cause]string{CauseCNI: "a"}, Excluded: true})
	}
	b := &queue{limit: 1}
	b.take(p)
	s := b.state()
	if len(s.Manual) != 2 || strings.Count(s.Manual[0], "n/Job/") != maxNamed || s.Manual[1] != "and 2800 more" || s.ManualCount != 3000 {
		t.Errorf("the list of %d is %q", s.ManualCount, s.Manual)
	}
	if s.Pending != maxOutdated || s.Excluded != maxOutdated || !p.More || !b.remaining() {
		t.Errorf("%d are pending, and that there are more is %t", s.Pending, p.More)
	}
}

// Outside of the window a workload waits, and comes up again later.
func TestQueue_Window(t *testing.T) {
	p := NewSurvey()
	p.Add(Outdated{Workload: cart, Causes: map[Cause]string{CauseCNI: "a"}})
	b := &queue{limit: 1}
	b.take(p)
	for range 2 {
		if next := b.next(); len(next) != 1 {
			t.Fatalf("the next are %v", next)
		}
		if b.mayRestart(cart, false) || b.idle() {
			t.Fatal("it may be restarted while the window is closed, or is forgotten")
		}
	}
	b.next()
	if !b.mayRestart(cart, true) {
		t.Error("it may not be restarted while the window is open")
	}
}

// Who needed a person for the same causes does so until it was looked at again; for other causes
// it waits for its turn, as does who may be restarted now.
func TestQueue_LookedAtAgain(t *testing.T) {
	paused := Decision{NeedsUser, "it is paused"}
	gateway := Workload{KindDeployment, "istio-system", "istio-ingressgateway"}
	took := func(b *queue, change string) {
		p := NewSurvey()
		p.Add(Outdated{Workload: gateway, Role: RoleGateway, Causes: map[Cause]string{CauseTrustedProxies: change}})
		b.take(p)
	}
	tests := map[string]struct {
		reason string
		then   func(b *queue)
		want   State
	}{
		"Waiting": {reason: "it was found again", then: func(*queue) {}, want: State{ManualCount: 1}},
		"Twice":   {reason: "and once more", then: func(b *queue) { took(b, "a") }, want: State{ManualCount: 1}},
		"Active":  {reason: "it is checked", then: func(b *queue) { b.next() }, want: State{ManualCount: 1}},
		"Still":   {reason: "no user has acted", then: func(b *queue) { b.next(); b.record(gateway, paused, made, hour) }, want: State{ManualCount: 1}},
		"Restart": {reason: "it can be restarted", then: func(b *queue) { b.next(); b.record(gateway, Decision{Restart, "x"}, made, hour) }, want: State{Pending: 1, Gateway: GatewayState{Rolling: true}}},
		"Closed":  {reason: "it can be restarted, and not now", then: func(b *queue) { b.next(); b.mayRestart(gateway, false) }, want: State{Pending: 1}},
		"Other":   {reason: "another cause", then: func(b *queue) { took(b, "b"); b.next() }, want: State{Pending: 1, Gateway: GatewayState{Rolling: true}}},
		"Gone":    {reason: "nothing is outdated any more", then: func(b *queue) { b.take(NewSurvey()) }, want: State{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := &queue{limit: 1}
			took(b, "a")
			b.next()
			b.record(gateway, paused, made, hour)
			took(b, "a")
			tc.then(b)
			got := b.state()
			if got.ManualCount != tc.want.ManualCount || got.Pending != tc.want.Pending || got.Gateway.Rolling != tc.want.Gateway.Rolling {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
			if (b.state().ManualCount > 0) != (tc.want.ManualCount > 0) {
				t.Errorf("%s: that it needs a person is reported as %t", tc.reason, (b.state().ManualCount > 0))
			}
		})
	}
}
