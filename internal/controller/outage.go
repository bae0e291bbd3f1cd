// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/packages"
)

// askEvery is how often the API server is asked whether it answers again.
const askEvery = time.Second

// outage notices that the API server does not answer, and when it does again. What failed
// meanwhile would be tried again after up to a minute otherwise: no watch says that an API
// server is back. Reads wait for it instead of failing, as informers that fail sleep for
// longer and longer, and cannot be woken.
type outage struct {
	// stop ends the wait for the API server.
	stop <-chan struct{}

	lock sync.Mutex
	// present is the absence that lasts, nil without one.
	present *absence
	// wake is called after each outage.
	wake []func()
}

// absence is a time in which requests were not answered.
type absence struct {
	// over is closed when the API server answers, or the manager stops.
	over chan struct{}
	// isOutage says that the API server did not answer at first; it is known when the
	// absence is over.
	isOutage bool
}

// wakes has something called after each outage.
func (o *outage) wakes(wake func()) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.wake = append(o.wake, wake)
}

// wakesPackages has the loop look at every package after each outage.
func (o *outage) wakesPackages(reader client.Reader, changes *packages.Changes) {
	o.wakes(func() {
		list := &v1alpha1.PackageList{}
		if err := reader.List(wait.ContextForChannel(o.stop), list, client.UnsafeDisableDeepCopy); err != nil {
			return // the cache is not there yet, so that no pass can have failed
		}
		for i := range list.Items {
			changes.Notify(list.Items[i].Name)
		}
	})
}

// events has an event after each outage.
func (o *outage) events() <-chan event.GenericEvent {
	events := make(chan event.GenericEvent, 1)
	o.wakes(func() {
		select {
		case events <- event.GenericEvent{Object: &v1alpha1.Package{}}:
		default: // one that waits says the same
		}
	})
	return events
}

// Wrap is a transport that notices requests without an answer, and sends reads again when
// the API server is back.
func (o *outage) Wrap(transport http.RoundTripper) http.RoundTripper {
	return answers(func(request *http.Request) (*http.Response, error) {
		for {
			response, err := transport.RoundTrip(request)
			if err == nil || request.Context().Err() != nil {
				return response, err
			}
			absence := o.begin(transport, request.URL)
			if request.Method != http.MethodGet {
				return response, err
			}
			select {
			case <-absence.over:
			case <-request.Context().Done():
			}
			if o.isStopped() || request.Context().Err() != nil || !absence.isOutage {
				return response, err
			}
		}
	})
}

type answers func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) { return a(request) }

// begin waits, once at a time, until the API server answers. It may answer at once: one
// request alone had failed then, and there was no outage.
func (o *outage) begin(transport http.RoundTripper, failed *url.URL) *absence {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.present != nil {
		return o.present
	}
	found := &absence{over: make(chan struct{})}
	o.present = found
	health := url.URL{Scheme: failed.Scheme, Host: failed.Host, Path: "/readyz"}
	go func() {
		found.isOutage = o.await(transport, health.String())
		o.lock.Lock()
		o.present = nil
		wake := slices.Clone(o.wake)
		o.lock.Unlock()
		close(found.over)
		for _, wake := range wake {
			if found.isOutage && !o.isStopped() {
				wake()
			}
		}
	}()
	return found
}

func (o *outage) isStopped() bool {
	select {
	case <-o.stop:
		return true
	default:
		return false
	}
}

// await asks until there is an answer, and says whether there was none at first.
func (o *outage) await(transport http.RoundTripper, health string) (was bool) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for !o.isAnswered(transport, health) {
		was = true
		select {
		case <-o.stop:
			return was
		case <-ticker.C:
		}
	}
	return was
}

// isAnswered says whether the API server answers. It asks without credentials: that they
// are wanted is an answer.
func (o *outage) isAnswered(transport http.RoundTripper, health string) bool {
	ctx, end := context.WithTimeout(wait.ContextForChannel(o.stop), 5*askEvery)
	defer end()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, health, http.NoBody)
	if err != nil {
		return true // which cannot be asked again either
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	return err == nil && response.StatusCode < http.StatusInternalServerError
}
