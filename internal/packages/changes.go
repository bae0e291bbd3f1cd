// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Changes hands the names of packages whose objects have changed to the loop. It
// never blocks the caller that reports a change, however busy the loop is: the queue keeps a
// name once. The zero value is ready for use.
type Changes struct {
	lock  sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// early are the names that came before the loop has started.
	early map[string]bool
}

// Notify asks for a pass over a package.
func (c *Changes) Notify(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.queue != nil {
		c.queue.Add(requestFor(name))
		return
	}
	if c.early == nil {
		c.early = map[string]bool{}
	}
	c.early[name] = true
}

// source is what the loop watches.
func (c *Changes) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.queue = queue
		for name := range c.early {
			queue.Add(requestFor(name))
		}
		c.early = nil
		return nil
	})
}
