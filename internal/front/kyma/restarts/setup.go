// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// Meter takes in what is done.
type Meter interface {
	// Restarted counts a restart for a cause. Several causes are counted one by one.
	Restarted(cause string)
	// Restarts takes in how many workloads are to be restarted, do not come up, and need a
	// user.
	Restarts(pending, failed, manual int)
}

// Settings are those of the controller.
type Settings struct {
	// Limit is how many workloads may roll out at a time.
	Limit int
	// Deadline is how long the rollout of a restart may take until it counts as failed.
	Deadline time.Duration
	// Interval is the time between surveys without any news.
	Interval time.Duration
}

// Config is what the controller is made of besides what fronts share.
type Config struct {
	Recorder toolsevents.EventRecorder
	Meter    Meter
	Settings Settings
	// Changed is called when the state has changed.
	Changed func()
}

// Setup adds the controller to a manager.
func Setup(w front.Wiring, config Config) (*Controller, error) {
	mgr, kind := w.Manager, v1alpha2.GroupVersion.WithKind("Istio")
	c := &Controller{
		Config: config, cache: mgr.GetClient(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), now: time.Now,
		served: func() bool { return w.Kinds.Served(kind) },
	}
	loop, err := controller.NewTyped("kyma-restarts", mgr, controller.TypedOptions[Workload]{
		Reconciler: c, RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[Workload](200*time.Millisecond, time.Minute),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up restarts: %w", err)
	}
	enqueueMesh := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []Workload { return []Workload{{}} })
	watch := func(o client.Object, news predicate.Predicate) func() error {
		return func() error {
			return loop.Watch(source.TypedKind(mgr.GetCache(), o, enqueueMesh, news))
		}
	}
	c.watchNamespaces = watch(front.Metadata(namespaceKind), c.namespaceEvents())
	istio, filter := &v1alpha2.Istio{}, front.Metadata(filterKind)
	err = errors.Join(
		loop.Watch(source.TypedFunc[Workload](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[Workload]) error {
			c.requests = queue
			queue.Add(Workload{}) // nothing is left of a mesh that is gone that an event would be about
			return nil
		})),
		watch(&v1alpha1.Package{}, predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == servicemesh.PackageIstio }))(),
		w.Kinds.Await(kind, istio, watch(istio, predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))),
		w.Kinds.Await(filterKind, filter, watch(filter, c.filterEvents())),
	)
	if err != nil {
		return nil, fmt.Errorf("setting up restarts: %w", err)
	}
	return c, nil
}

// signals are what watches have seen since it was used last.
type signals struct {
	// relabelled says that labels of a namespace have changed, and filtersChanged that an EnvoyFilter
	// has another time of its last change.
	relabelled, filtersChanged atomic.Bool
	// left has the names of namespaces that have left the mesh.
	left sync.Map
}

// filterEvents lets through EnvoyFilters of the mesh that have another time of their last change.
func (s *signals) filterEvents() predicate.Predicate {
	updatedAt := func(o client.Object) string {
		if o.GetNamespace() != servicemesh.IstioNamespace || o.GetLabels()[v1alpha2.LabelModule] != v1alpha2.ModuleName {
			return ""
		}
		return o.GetAnnotations()[v1alpha2.AnnotationUpdatedAt]
	}
	changed := func(before, after string) bool {
		if before != after {
			s.filtersChanged.Store(true)
		}
		return before != after
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return changed("", updatedAt(e.Object)) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return changed(updatedAt(e.Object), "") },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return changed(updatedAt(e.ObjectOld), updatedAt(e.ObjectNew)) },
	}
}

// namespaceEvents lets through namespaces whose pods may be outdated by a change of its metadata. A
// new one has no pods.
func (s *signals) namespaceEvents() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if !InjectionChanged(e.ObjectOld, e.ObjectNew) {
				return false
			}
			if Leaves(e.ObjectOld, e.ObjectNew) {
				s.left.Store(e.ObjectNew.GetName(), true)
			}
			s.relabelled.Store(true)
			return true
		},
	}
}
