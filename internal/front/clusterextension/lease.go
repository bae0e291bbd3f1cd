// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leaseName is the lease of OLM's own controller, in its system namespace.
const leaseName = "9c4404e7.operatorframework.io"

const (
	// leaseDuration is that of a lease which does not say its own: OLM's.
	leaseDuration = 137 * time.Second
	// abandonedAfter is how many durations a lease must not have been renewed for, by its own time, to count
	// as abandoned when it is seen first. Clocks do not differ that much.
	abandonedAfter = 10
)

// lease is a lease of OLM as this manager has seen it. Its holder's clock may differ, so that its
// renewals are timed by our own.
type lease struct {
	holder   string
	renewal  time.Time // as the holder says it
	seen     time.Time // when that was seen
	duration time.Duration
}

// next is the lease after its object was read.
func (l lease) next(spec coordinationv1.LeaseSpec, now time.Time) lease {
	read := lease{duration: leaseDuration, seen: now}
	if spec.HolderIdentity != nil {
		read.holder = *spec.HolderIdentity
	}
	if spec.RenewTime != nil {
		read.renewal = spec.RenewTime.Time
	}
	if spec.LeaseDurationSeconds != nil && *spec.LeaseDurationSeconds > 0 {
		read.duration = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	switch {
	case l.seen.IsZero() && now.Sub(read.renewal) > abandonedAfter*read.duration:
		read.seen = read.renewal
	case read.holder == l.holder && read.renewal.Equal(l.renewal):
		read.seen = l.seen
	}
	return read
}

// freeAt is when the lease no longer keeps this manager from acting: a whole duration after it has
// expired. It is in the past when there is no holder.
func (l lease) freeAt() time.Time {
	if l.holder == "" {
		return time.Time{}
	}
	return l.seen.Add(2 * l.duration)
}
