// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/telemetry"
	"github.com/strata-run/strata/revisions/cache"
)

// Wiring is what the fronts of a manager share. Every field is required.
type Wiring struct {
	Manager manager.Manager
	// Kinds knows which kinds are served.
	Kinds *Kinds
	// Informers watch single objects that a front depends on.
	Informers *cache.Informers
	// Publisher makes packages and revisions.
	Publisher *Publisher
	// Recorder records events.
	Recorder events.EventRecorder
	// Meter takes in how long fronts took to render, the conditions of their resources, and
	// metrics of their own.
	Meter *telemetry.Metrics
	// Recovered has an event each time that the API server answers again.
	Recovered func() <-chan event.GenericEvent
}

// reconciler is the loop of one front.
func reconciler[P client.Object, F any](w Wiring, f Front[P, F]) *Reconciler[P, F] {
	return &Reconciler[P, F]{
		Front: timed(w, f), Client: w.Manager.GetClient(), Live: w.Manager.GetAPIReader(), Publisher: w.Publisher, Recorder: w.Recorder,
		conditions: w.Meter.Conditions,
	}
}

// timed is a front whose renderings are timed.
func timed[P client.Object, F any](w Wiring, f Front[P, F]) Front[P, F] {
	of := f.Render
	f.Render = func(in Input[P, F]) ([]content.Package, error) {
		began := time.Now()
		defer func() { w.Meter.Rendered(f.Name, time.Since(began)) }()
		return of(in)
	}
	return f
}

// Signal brings back groups of a front for what it watches itself.
type Signal chan event.GenericEvent

// NewSignal is a signal that has not been raised.
func NewSignal() Signal { return make(Signal, 1) }

// RaiseFor brings back the group of one resource. It waits until the front reads it, or the context
// ends, as no other signal would stand for it.
func (s Signal) RaiseFor(ctx context.Context, resource client.Object) {
	select {
	case s <- event.GenericEvent{Object: resource}:
	case <-ctx.Done():
	}
}

// Raise brings back all groups. It does not wait: a signal that the front has not read yet stands for all until then.
// The object is of the front's type, and may be empty.
func (s Signal) Raise(object client.Object) {
	select {
	case s <- event.GenericEvent{Object: object}:
	default:
	}
}
