// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passes make passes that take 10 s to fail for packages named slow, and 200 ms for others.
var passes = reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	if strings.HasPrefix(request.Name, "slow") {
		time.Sleep(10 * time.Second)
		return reconcile.Result{}, errRefused
	}
	time.Sleep(200 * time.Millisecond)
	return reconcile.Result{}, nil
})

// TestLanes: packages that are slow to fail hold up no other, however many there are, and
// take no more room than there is for them.
func TestLanes(t *testing.T) {
	for name, slow := range map[string]int{"Eight": 8, "Thirty": 30} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLanes(passes)
				ctx, end := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for i := range slow {
					running.Go(func() {
						for ctx.Err() == nil {
							result, err := l.Reconcile(ctx, requestFor("slow-"+string(rune('a'+i))))
							if err != nil {
								result.RequeueAfter = time.Second
							}
							time.Sleep(result.RequeueAfter)
						}
					})
				}
				time.Sleep(time.Minute)
				for range 50 {
					began := time.Now()
					if _, err := l.Reconcile(ctx, requestFor("healthy")); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took > 220*time.Millisecond {
						t.Errorf("beside %d slow packages a pass of 200ms takes %s, want at most a tenth more", slow, took)
					}
				}
				if n := len(l.slow); n > slowPasses {
					t.Errorf("%d slow passes run, want at most %d", n, slowPasses)
				}
				end()
				running.Wait()
			})
		})
	}
}

// TestLanes_Patience: a package is not known to be slow before its first pass. It leaves
// the room that all share as soon as it shows.
func TestLanes_Patience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(passes)
		var running sync.WaitGroup
		for i := range fastPasses {
			running.Go(func() { _, _ = l.Reconcile(t.Context(), requestFor("slow-"+string(rune('a'+i)))) })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := l.Reconcile(t.Context(), requestFor("healthy")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > patience+200*time.Millisecond {
			t.Errorf("behind %d passes of 10s another one takes %s", fastPasses, took)
		}
		running.Wait()
	})
}

// TestLanes_Crowd: where the API server is slow, so that every pass takes long, no more of
// them run than there is room for.
func TestLanes_Crowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lock sync.Mutex
		running, most := 0, 0
		count := func(by int) {
			lock.Lock()
			defer lock.Unlock()
			running += by
			most = max(most, running)
		}
		l := newLanes(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			count(1)
			defer count(-1)
			time.Sleep(5 * time.Second)
			return reconcile.Result{}, nil
		}))
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() { _, _ = l.Reconcile(t.Context(), requestFor("package-"+strconv.Itoa(i))) })
		}
		all.Wait()
		if most != fastPasses+slowPasses {
			t.Errorf("%d passes run side by side, want %d", most, fastPasses+slowPasses)
		}
		synctest.Wait()
		if len(l.fast)+len(l.slow) != 0 {
			t.Errorf("%d and %d places are taken, and nothing runs", len(l.fast), len(l.slow))
		}
	})
}
