// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// firstConflict gives the cache time to see the change.
	firstConflict = 50 * time.Millisecond
	// longestConflict bounds the wait between tries, as of a webhook that answers
	// every write with a conflict.
	longestConflict = 2 * time.Minute
)

// Conflicts turns the class of an error into what comes next: a conflict is tried
// again silently, soon at first and then less and less often, a terminal error
// waits for a change, any other is tried again with growing delays. The zero value
// is ready for use, by several goroutines.
type Conflicts struct {
	lock sync.Mutex
	rows map[reconcile.Request]int
}

// Decide says what comes next for a request.
func (c *Conflicts) Decide(ctx context.Context, request reconcile.Request, outcome Outcome, err error) (reconcile.Result, error) {
	row := c.count(request, IsConflict(err))
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: outcome.After}, nil
	case row > 0:
		wait := min(firstConflict<<min(row-1, 20), longestConflict)
		log.FromContext(ctx).V(1).Info("The object has changed; reconciling again", "cause", err.Error(), "after", wait.String())
		return reconcile.Result{RequeueAfter: wait}, nil
	default:
		return reconcile.Result{}, err
	}
}

// count is how many conflicts in a row the request has had.
func (c *Conflicts) count(request reconcile.Request, conflict bool) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !conflict {
		delete(c.rows, request)
		return 0
	}
	if c.rows == nil {
		c.rows = map[reconcile.Request]int{}
	}
	c.rows[request]++
	return c.rows[request]
}

// IsConflict says whether every part of an error is a conflict: the object has
// changed since it was read, and nothing is wrong.
func IsConflict(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, part := range joined.Unwrap() {
			if !IsConflict(part) {
				return false
			}
		}
		return true
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}
