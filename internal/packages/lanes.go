// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// fastPasses is how many passes run side by side, and slowPasses how many
	// besides of which the pass goes on for long, or did so the last time and failed.
	fastPasses, slowPasses = 4, 16
	// workers are enough for both, and for what waits for room.
	workers = 64
	// patience is how long a pass may take of the room that all share. Most take less.
	patience = 500 * time.Millisecond
	// crowded is how long a slow package waits when too many are slow.
	crowded = 10 * time.Second
	// passLimit is how long the engine may work on a package in one pass. What is left is
	// the next one's.
	passLimit = time.Minute
)

// lanes keep packages whose passes are slow from delaying others: behind a webhook that
// does not answer, a pass takes ten seconds to fail, and is tried again. A pass that goes
// on for longer than others leaves the fast lane to them. A package that was slow to fail
// begins in the slow lane the next time, and comes back later when that is full.
type lanes struct {
	next       reconcile.Reconciler
	fast, slow chan struct{}

	lock     sync.Mutex
	laggards map[reconcile.Request]bool
}

func newLanes(next reconcile.Reconciler) *lanes {
	return &lanes{
		next: next, fast: make(chan struct{}, fastPasses), slow: make(chan struct{}, slowPasses),
		laggards: map[reconcile.Request]bool{},
	}
}

// Reconcile implements reconcile.Reconciler.
func (l *lanes) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if l.lags(request) {
		select {
		case l.slow <- struct{}{}:
		default:
			return reconcile.Result{RequeueAfter: crowded}, nil
		}
		defer func() { <-l.slow }()
		return l.pass(ctx, request)
	}
	select {
	case l.fast <- struct{}{}:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	done := make(chan struct{})
	defer close(done)
	go l.makeRoom(done)
	return l.pass(ctx, request)
}

// makeRoom leaves the fast lane when a pass is done, or moves it to the slow lane when it goes
// on for long.
func (l *lanes) makeRoom(done <-chan struct{}) {
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case <-done:
		<-l.fast
		return
	case <-patient.C:
	}
	select {
	case <-done:
		<-l.fast
	case l.slow <- struct{}{}:
		<-l.fast
		<-done
		<-l.slow
	}
}

// pass makes a pass, and notes whether it was slow to fail.
func (l *lanes) pass(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	began := time.Now()
	result, err := l.next.Reconcile(ctx, request)
	l.lock.Lock()
	defer l.lock.Unlock()
	if err != nil && time.Since(began) > patience {
		l.laggards[request] = true
	} else {
		delete(l.laggards, request)
	}
	return result, err
}

func (l *lanes) lags(request reconcile.Request) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.laggards[request]
}
