// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/telemetry"
)

// leftToOLM is 1 while the front writes nothing.
var leftToOLM = telemetry.Description{
	Name: "strata_clusterextensions_left_to_olm", Type: telemetry.Gauge,
	Help: "1 while OLM's own controller holds its leader lease, so that ClusterExtensions are left to it, 0 otherwise.",
}

// leaseWatch knows whether OLM's own controller leads: two controllers that write the same
// objects are worse than none.
type leaseWatch struct {
	leases cache.Cache
	// released is called when the front may act.
	released func()
	recorder events.EventRecorder
	gauge    prometheus.Gauge
	now      func() time.Time

	lock sync.Mutex
	// known are the leases by their namespace, and decided whether they were read.
	known   map[string]lease
	decided bool
	// holds is the lease that keeps the front from acting, nil for none.
	holds *coordinationv1.Lease
}

// newLeaseWatch watches the lease in namespaces, as part of a manager.
func newLeaseWatch(w front.Wiring, namespaces []string, released func()) (*leaseWatch, error) {
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	mgr := w.Manager
	leases, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Namespaces: in, Field: fields.OneTermEqualSelector("metadata.name", leaseName)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the watch of OLM's lease: %w", err)
	}
	watch := &leaseWatch{
		leases: leases, released: released, recorder: w.Recorder, now: time.Now, known: map[string]lease{},
		gauge: prometheus.NewGauge(prometheus.GaugeOpts{Name: leftToOLM.Name, Help: leftToOLM.Help}),
	}
	w.Meter.Add(watch.gauge)
	if err := mgr.Add(watch); err != nil {
		return nil, fmt.Errorf("setting up the watch of OLM's lease: %w", err)
	}
	return watch, nil
}

// rests says whether ClusterExtensions are left alone: as long as OLM leads, and until it is known
// that it does not.
func (w *leaseWatch) rests() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return !w.decided || w.holds != nil
}

// Start implements manager.Runnable.
func (w *leaseWatch) Start(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- w.leases.Start(ctx) }()
	informer, err := w.leases.GetInformer(ctx, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("watching OLM's lease %s: %w", leaseName, err)
	}
	changed := make(chan struct{}, 1)
	note := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, lease any) { note(lease) }, DeleteFunc: note}); err != nil {
		return fmt.Errorf("watching OLM's lease %s: %w", leaseName, err)
	}
	if !w.leases.WaitForCacheSync(ctx) {
		return <-ended
	}
	for {
		var again <-chan time.Time
		if wait, err := w.decide(ctx); err != nil {
			return err
		} else if wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return <-ended
		case <-changed:
		case <-again:
		}
	}
}

// decide reads the leases, and says when to do so again without an event.
func (w *leaseWatch) decide(ctx context.Context) (time.Duration, error) {
	list := &coordinationv1.LeaseList{}
	if err := w.leases.List(ctx, list); err != nil {
		return 0, fmt.Errorf("reading OLM's lease %s: %w", leaseName, err)
	}
	now := w.now()
	known, wait := map[string]lease{}, time.Duration(0)
	var holds *coordinationv1.Lease
	slices.SortFunc(list.Items, func(a, b coordinationv1.Lease) int { return strings.Compare(a.Namespace, b.Namespace) })
	for i := range list.Items {
		read := &list.Items[i]
		next := w.known[read.Namespace].next(read.Spec, now)
		known[read.Namespace] = next
		if left := next.freeAt().Sub(now); left > 0 {
			holds, wait = read, max(wait, left)
		}
	}
	w.lock.Lock()
	before, first := w.holds, !w.decided
	w.known, w.holds, w.decided = known, holds, true
	w.lock.Unlock()
	w.report(ctx, before, holds)
	if holds == nil && (before != nil || first) {
		w.released()
	}
	return wait, nil
}

// report says once that the front leaves off, and once that it goes on.
func (w *leaseWatch) report(ctx context.Context, before, holds *coordinationv1.Lease) {
	switch {
	case before == nil && holds != nil:
		w.gauge.Set(1)
		note := fmt.Sprintf("%s holds the lease: ClusterExtensions are left to OLM until it has not been renewed for twice its duration", *holds.Spec.HolderIdentity)
		log.FromContext(ctx).Info("Leaving ClusterExtensions to OLM", "lease", client.ObjectKeyFromObject(holds), "holder", *holds.Spec.HolderIdentity)
		w.recorder.Eventf(holds, nil, corev1.EventTypeWarning, ReasonLeftToOLM, "Rest", "%s", note)
	case before != nil && holds == nil:
		w.gauge.Set(0)
		log.FromContext(ctx).Info("Taking over ClusterExtensions, as OLM's lease is not renewed", "lease", client.ObjectKeyFromObject(before))
		w.recorder.Eventf(before, nil, corev1.EventTypeNormal, ReasonTakenOver, "TakeOver", "%s", "The lease is released or was not renewed for twice its duration: Strata reconciles ClusterExtensions")
	}
}
