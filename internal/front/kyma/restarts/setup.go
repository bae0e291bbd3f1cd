// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// Kinds knows which kinds the API server serves.
type Kinds interface {
	// Await calls start once a kind is served.
	Await(kind schema.GroupVersionKind, object client.Object, start func() error) error
	// Served says whether a kind is.
	Served(kind schema.GroupVersionKind) bool
}

// Config is what the controller is made of besides a manager.
type Config struct {
	Kinds    Kinds
	Recorder toolsevents.EventRecorder
	Meter    Meter
	Settings Settings
	// Changed is called when the state has changed.
	Changed func()
}

// Setup adds the controller to a manager.
func Setup(mgr manager.Manager, config Config) (*Controller, error) {
	kind := v1alpha2.GroupVersion.WithKind("Istio")
	c := &Controller{
		Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Recorder: config.Recorder, Meter: config.Meter,
		Settings: config.Settings, Changed: config.Changed, Now: time.Now,
		Served: func() bool { return config.Kinds.Served(kind) },
	}
	loop, err := controller.NewTyped("kyma-restarts", mgr, controller.TypedOptions[Workload]{
		Reconciler: c, RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[Workload](200*time.Millisecond, time.Minute),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up restarts: %w", err)
	}
	enqueueMesh := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []Workload { return []Workload{{}} })
	ofPackage := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == servicemesh.PackageIstio })
	err = loop.Watch(source.TypedFunc[Workload](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[Workload]) error {
		c.requests = queue
		queue.Add(Workload{}) // nothing is left of a mesh that is gone that an event would be about
		return nil
	}))
	if err == nil {
		err = loop.Watch(source.TypedKind[client.Object](mgr.GetCache(), &v1alpha1.Package{}, enqueueMesh, ofPackage))
	}
	if err == nil {
		err = config.Kinds.Await(kind, &v1alpha2.Istio{}, func() error {
			news := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
			return loop.Watch(source.TypedKind[client.Object](mgr.GetCache(), &v1alpha2.Istio{}, enqueueMesh, news))
		})
	}
	if err == nil {
		filter := &metav1.PartialObjectMetadata{}
		filter.SetGroupVersionKind(filterKind)
		err = config.Kinds.Await(filterKind, filter, func() error {
			return loop.Watch(source.TypedKind[client.Object](mgr.GetCache(), filter, enqueueMesh, c.filterEvents()))
		})
	}
	if err != nil {
		return nil, fmt.Errorf("setting up restarts: %w", err)
	}
	c.WatchNamespaces = func() error {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		return loop.Watch(source.TypedKind[client.Object](mgr.GetCache(), namespace, enqueueMesh, c.namespaceEvents()))
	}
	return c, nil
}

// signals are what watches have seen since it was used last.
type signals struct {
	// relabelled says that labels of a namespace have changed, and filtersChanged that an EnvoyFilter
	// has another time of its last change.
	relabelled, filtersChanged atomic.Bool
	// left are the namespaces that have left the mesh.
	left nameSet
}

// nameSet holds names. It is safe for concurrent use.
type nameSet struct{ all sync.Map }

func (s *nameSet) names() []string {
	var names []string
	s.all.Range(func(name, _ any) bool {
		names = append(names, fmt.Sprint(name))
		return true
	})
	return names
}

func (s *nameSet) remove(names []string) {
	for _, name := range names {
		s.all.Delete(name)
	}
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
				s.left.all.Store(e.ObjectNew.GetName(), true)
			}
			s.relabelled.Store(true)
			return true
		},
	}
}
