// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// restInterval is how often it is looked whether a burst is over.
	restInterval = 30 * time.Second
	// restBytes is what is allocated in that time at most when there is nothing to do
	// but to renew the lease and to answer scrapes.
	restBytes = 16 << 20
	// burstBytes is how much has to be allocated until it is worth a collection.
	burstBytes = 64 << 20
)

// thrift gives the memory that a burst has needed, such as a rollout of everything, back
// to the system once it is over. The runtime alone keeps as much as it had room for when
// it collected last, for a next burst; ours are hours apart.
type thrift struct {
	// allocated is what was ever allocated when it was looked last, and given back last,
	// in bytes.
	allocated, given uint64
}

// Start looks until the context ends.
func (t *thrift) Start(ctx context.Context) error {
	ticker := time.NewTicker(restInterval)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		metrics.Read(sample)
		if t.isOver(sample[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// NeedLeaderElection says that the managers that wait for their turn save memory too.
func (t *thrift) NeedLeaderElection() bool { return false }

// isOver takes in how much was ever allocated, and says whether a burst has just ended.
func (t *thrift) isOver(allocated uint64) bool {
	quiet := allocated-t.allocated < restBytes
	t.allocated = allocated
	if !quiet || allocated-t.given < burstBytes {
		return false
	}
	t.given = allocated
	return true
}
