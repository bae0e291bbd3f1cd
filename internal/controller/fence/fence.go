// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// shortest is the least time that a write is given. With less of the lease left it is not
// sent.
const shortest = 4 * time.Second

// ErrStale says that a write was not sent, as another manager may lead by now.
var ErrStale = errors.New("the lease was not renewed in time, so that another manager may lead: nothing is written")

// ErrReplaced says that the lease names another holder.
var ErrReplaced = errors.New("another manager leads")

// Fence lets writes through while a lease is held.
type Fence struct {
	// term is how long a renewal lasts.
	term time.Duration
	// lost is called once, when the lease names another holder.
	lost func(error)
	// now is the clock. Its times tell both of the wall and of the monotonic clock.
	now func() time.Time

	lock     sync.Mutex
	renewed  time.Time
	replaced bool
}

// New is a closed fence for a lease that lasts for the term given after a renewal. When
// the lease names another holder after it was held, lost is called, once.
func New(term time.Duration, lost func(error)) *Fence {
	return &Fence{term: term, lost: lost, now: time.Now}
}

// Lock watches a lock's lease: what it says about its holder opens and closes the fence.
func (f *Fence) Lock(lock resourcelock.Interface) resourcelock.Interface {
	return &watched{Interface: lock, fence: f}
}

// Wrap is a transport that lets writes through while the fence is open. Reads pass, and
// so do events and questions about who a client is and what it may do.
func (f *Fence) Wrap(transport http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if changesNothing(request) {
			return transport.RoundTrip(request)
		}
		left := f.left()
		if left < shortest {
			return nil, ErrStale
		}
		bounded := request.Clone(request.Context())
		query := bounded.URL.Query()
		query.Set("timeout", fmt.Sprintf("%ds", int(left.Seconds())))
		bounded.URL.RawQuery = query.Encode()
		return transport.RoundTrip(bounded)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// harmless are the groups in which a create changes nothing that a manager acts on.
var harmless = []string{"/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/", "/apis/events.k8s.io/"}

func changesNothing(request *http.Request) bool {
	return request.Method == http.MethodGet || request.Method == http.MethodHead ||
		slices.ContainsFunc(harmless, func(group string) bool { return strings.HasPrefix(request.URL.Path, group) })
}

// left is how long the lease is certainly not another manager's. The monotonic clock may
// stand still while a machine sleeps, and the wall clock may be set back: the one that has
// gone further counts.
func (f *Fence) left() time.Duration {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.renewed.IsZero() || f.replaced {
		return 0
	}
	now := f.now()
	return f.term - max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0)))
}

// renew takes in that the lease was held when it was asked for at the time given.
func (f *Fence) renew(at time.Time) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.renewed = at
}

// others takes in that the lease does not name this manager. One that has never held it
// goes on waiting.
func (f *Fence) others(holder string) {
	f.lock.Lock()
	first := !f.renewed.IsZero() && !f.replaced
	f.replaced = f.replaced || first
	f.lock.Unlock()
	if first && holder != "" {
		f.lost(fmt.Errorf("%w: the lease names manager %q", ErrReplaced, holder))
	}
}

// watched is a lock whose lease opens and closes a fence.
type watched struct {
	resourcelock.Interface

	fence *Fence
}

// Get implements resourcelock.Interface.
func (w *watched) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != w.Identity() {
		w.fence.others(record.HolderIdentity)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (w *watched) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.renew(record, func() error { return w.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (w *watched) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.renew(record, func() error { return w.Interface.Update(ctx, record) })
}

// renew counts a renewal from before it was sent, which is when the lease says that it was
// renewed. A lease that is given back closes the fence before it is.
func (w *watched) renew(record resourcelock.LeaderElectionRecord, send func() error) error {
	if record.HolderIdentity != w.Identity() {
		w.fence.others("")
		return send()
	}
	at := w.fence.now()
	if err := send(); err != nil {
		return err
	}
	w.fence.renew(at)
	return nil
}
