// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/pods"
)

// fleet plays workloads that roll out when they are restarted.
type fleet struct {
	random   *rand.Rand
	now      time.Time
	live     map[Workload]*Live
	restarts map[Workload]int
	// left is how many looks a rollout still takes; one that is broken never ends.
	left   map[Workload]int
	broken map[Workload]bool
	// stale workloads stay outdated whatever is done.
	stale map[Workload]bool
	// epoch is the one of the newest change, and seen the one that pods are of.
	epoch string
	seen  map[Workload]string
}

func newFleet(seed uint64, size int) *fleet {
	f := &fleet{
		random: rand.New(rand.NewPCG(seed, 1)), now: made, epoch: "e1", live: map[Workload]*Live{}, restarts: map[Workload]int{},
		left: map[Workload]int{}, broken: map[Workload]bool{}, stale: map[Workload]bool{}, seen: map[Workload]string{},
	}
	for i := range size {
		w := Workload{KindDeployment, fmt.Sprintf("n%d", i%7), fmt.Sprintf("w%03d", i)}
		f.live[w] = &Live{Found: true, Excluded: f.random.IntN(12) == 0, Rollout: pods.Rollout{Done: f.random.IntN(9) > 0}}
		f.stale[w] = f.random.IntN(15) == 0
	}
	return f
}

// survey is what a survey of all pods finds.
func (f *fleet) survey() *Plan {
	p := NewPlan()
	for w := range f.live {
		if f.seen[w] == f.epoch && !f.stale[w] {
			continue
		}
		pod := &Pod{Role: RoleOf(w), Created: made}
		if f.restarts[w] > 0 && f.left[w] == 0 {
			pod.Created = f.now
		}
		p.Add(pod, w, nil, map[Cause]string{CauseProxyImage: f.epoch}, false)
	}
	return p
}

// look decides about a workload, and does it.
func (f *fleet) look(t *testing.T, b *Board, w Workload) {
	entry, ours, found := b.Entry(w)
	if !found {
		return
	}
	live := f.live[w]
	d := Decide(entry, *live, ours, f.now, time.Hour)
	if d.Action == Restart {
		if !b.MayRestart(w, true) {
			return
		}
		if live.Excluded || !live.Rollout.Done {
			t.Fatalf("%s is restarted, and must not be: %+v", w, live)
		}
		live.Record = live.Record.With(entry.Causes, live.Template, f.now)
		f.restarts[w]++
		f.left[w], live.Rollout = 1+f.random.IntN(4), pods.Rollout{Progress: "rolling"}
	}
	b.Settle(w, d)
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
func (f *fleet) play(t *testing.T, b *Board) {
	t.Helper()
	for range 10_000 {
		next := append(b.Next(), b.Active()...)
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
		if rolling > b.Limit {
			t.Fatalf("%d workloads roll out at a time, allowed are %d", rolling, b.Limit)
		}
		if b.Idle() {
			return
		}
		f.step()
	}
	t.Fatal("it does not end")
}

// Whatever the fleet, each cause restarts each workload once, and no more roll out at a
// time than allowed.
func TestBoard_OncePerCause(t *testing.T) {
	for seed := range uint64(60) {
		f := newFleet(seed, 80)
		b := &Board{Limit: 1 + int(seed%6)}
		for change := 1; change <= 3; change++ {
			f.epoch = fmt.Sprintf("e%d", change)
			for range 3 { // surveys without news restart nothing
				b.Take(f.survey())
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
		s, excluded, postponed, stale := b.State(), 0, 0, 0
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
func TestBoard_Lost(t *testing.T) {
	for seed := range uint64(40) {
		f := newFleet(seed, 60)
		b := &Board{Limit: 3}
		b.Take(f.survey())
		for range int(seed) {
			for _, w := range append(b.Next(), b.Active()...) {
				f.look(t, b, w)
			}
			f.step()
		}
		b = &Board{Limit: 3}
		for w, live := range f.live {
			if live.Unfinished() {
				b.Resume(w)
			}
		}
		b.Take(f.survey())
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
func TestBoard_StopsOnFailure(t *testing.T) {
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
			f.live[gateway] = &Live{Found: true, Rollout: pods.Rollout{Done: true}}
			for w, live := range f.live {
				live.Excluded, live.Rollout.Done, f.stale[w] = false, true, false
			}
			failing := map[string]bool{}
			for _, w := range tc.bad {
				f.broken[w], failing[w.Namespace] = true, true
			}
			b := &Board{Limit: 3}
			b.Take(f.survey())
			pass := func() {
				for _, w := range append(b.Next(), b.Active()...) {
					f.look(t, b, w)
				}
				f.step()
			}
			for range 200 {
				pass()
			}
			s := b.State()
			left := 0
			for w := range f.live {
				if f.restarts[w] == 0 {
					left++
				}
				if f.restarts[w] == 0 && !tc.all && !failing[w.Namespace] {
					t.Errorf("%s: %s was not restarted", tc.reason, w)
				}
			}
			if left == 0 || s.FailedCount == 0 || s.Stopped != tc.all || b.Busy() {
				t.Fatalf("%s: %d were not restarted, and the state is %+v", tc.reason, left, s)
			}
			b.Take(f.survey()) // a survey does not make a failure forgotten
			for _, w := range b.Next() {
				t.Errorf("%s: a survey lets %s be restarted", tc.reason, w)
			}
			clear(f.broken)
			f.play(t, b)
			if len(f.restarts) != len(f.live) || len(b.State().Failed) > 0 {
				t.Errorf("%s: after all have come up, %d of %d are restarted: %+v", tc.reason, len(f.restarts), len(f.live), b.State())
			}
		})
	}
}

// What pods show of a failure is asked for once: it changes all the time.
func TestBoard_Because(t *testing.T) {
	b := &Board{Limit: 1}
	b.Resume(cart)
	asked := 0
	shown := []string{"", "Pod a: quota", "Pod b: quota", "Pod c: gone"}
	because := func(reason string) string {
		return b.Because(cart, reason, func() string { asked++; return shown[asked-1] })
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
func TestBoard_Order(t *testing.T) {
	p := NewPlan()
	for i, role := range []Role{RoleCustomer, RoleModule, RoleGateway, RoleComponent} {
		p.Add(&Pod{Role: role}, Workload{KindDeployment, "n", fmt.Sprint(i)}, nil, map[Cause]string{CauseCNI: "a"}, false)
	}
	b := &Board{Limit: 10}
	b.Take(p)
	got := ""
	for _, w := range b.Next() {
		got += w.Name
	}
	if got != "2310" {
		t.Errorf("the order is %s, want 2310", got)
	}
}

// What a person has to see to is bounded, and so is a plan.
func TestPlan_Bounded(t *testing.T) {
	p := NewPlan()
	for i := range 3000 {
		name := fmt.Sprint(i)
		p.Add(&Pod{}, Workload{}, &Hand{Workload: Workload{"Job", "n", name}, Reason: "by hand"}, nil, false)
		p.Add(&Pod{}, Workload{}, &Hand{Workload: Workload{"Pod", "n", name}, Reason: "by hand"}, nil, true)
		p.Add(&Pod{}, Workload{KindDeployment, "n", name}, nil, map[Cause]string{CauseCNI: "a"}, false)
		p.Add(&Pod{}, Workload{KindDaemonSet, "n", name}, nil, map[Cause]string{CauseCNI: "a"}, true)
	}
	b := &Board{Limit: 1}
	b.Take(p)
	s := b.State()
	if len(s.Manual) != 2 || strings.Count(s.Manual[0], "n/Job/") != mostNamed || s.Manual[1] != "and 2800 more" || s.ManualCount != 3000 {
		t.Errorf("the list of %d is %q", s.ManualCount, s.Manual)
	}
	if s.Pending != mostEntries || s.Excluded != mostEntries || !p.More || !b.Leftover() {
		t.Errorf("%d are pending, and that there are more is %t", s.Pending, p.More)
	}
}

// Outside of the window a workload waits, and comes up again later.
func TestBoard_Window(t *testing.T) {
	p := NewPlan()
	p.Add(&Pod{}, cart, nil, map[Cause]string{CauseCNI: "a"}, false)
	b := &Board{Limit: 1}
	b.Take(p)
	for range 2 {
		if next := b.Next(); len(next) != 1 {
			t.Fatalf("the next are %v", next)
		}
		if b.MayRestart(cart, false) || b.Idle() {
			t.Fatal("it may be restarted while the window is closed, or is forgotten")
		}
	}
	b.Next()
	if !b.MayRestart(cart, true) {
		t.Error("it may not be restarted while the window is open")
	}
}

// Who needed a person for the same causes does so until it was looked at again; for other causes
// it waits for its turn, as does who may be restarted now.
func TestBoard_LookedAtAgain(t *testing.T) {
	paused := Decision{AskPerson, "it is paused"}
	gateway := Workload{KindDeployment, "istio-system", "istio-ingressgateway"}
	took := func(b *Board, epoch string) {
		p := NewPlan()
		p.Add(&Pod{Role: RoleGateway}, gateway, nil, map[Cause]string{CauseTrustedProxies: epoch}, false)
		b.Take(p)
	}
	tests := map[string]struct {
		reason string
		then   func(b *Board)
		want   State
	}{
		"Waiting": {reason: "it was found again", then: func(*Board) {}, want: State{ManualCount: 1}},
		"Twice":   {reason: "and once more", then: func(b *Board) { took(b, "a") }, want: State{ManualCount: 1}},
		"Active":  {reason: "it is looked at", then: func(b *Board) { b.Next() }, want: State{ManualCount: 1}},
		"Still":   {reason: "nobody has seen to it", then: func(b *Board) { b.Next(); b.Settle(gateway, paused) }, want: State{ManualCount: 1}},
		"Restart": {reason: "it can be restarted", then: func(b *Board) { b.Next(); b.Settle(gateway, Decision{Restart, "x"}) }, want: State{Pending: 1, GatewayRolling: true}},
		"Closed":  {reason: "it can be restarted, and not now", then: func(b *Board) { b.Next(); b.MayRestart(gateway, false) }, want: State{Pending: 1}},
		"Other":   {reason: "another cause", then: func(b *Board) { took(b, "b"); b.Next() }, want: State{Pending: 1, GatewayRolling: true}},
		"Gone":    {reason: "nothing is outdated any more", then: func(b *Board) { b.Take(NewPlan()) }, want: State{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := &Board{Limit: 1}
			took(b, "a")
			b.Next()
			b.Settle(gateway, paused)
			took(b, "a")
			tc.then(b)
			got := b.State()
			if got.ManualCount != tc.want.ManualCount || got.Pending != tc.want.Pending || got.GatewayRolling != tc.want.GatewayRolling {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
			if b.Manual() != (tc.want.ManualCount > 0) {
				t.Errorf("%s: that it needs a person is told as %t", tc.reason, b.Manual())
			}
		})
	}
}
