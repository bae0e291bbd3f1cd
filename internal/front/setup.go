// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/loop"
)

// Setup adds a front to a manager. The resource is an empty object of the front's type.
// The front rests while its kind is not served: what was made for resources that cannot
// be read is left alone.
func Setup[P client.Object, F any](w Wiring, resource P, f Front[P, F]) error {
	mgr, kinds, r := w.Manager, w.Kinds, reconciler(w, f)
	kind, err := apiutil.GVKForObject(resource, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
	}
	r.isServed = func() bool { return kinds.Served(kind) }
	r.isRemoved = func(ctx context.Context) (bool, error) { return kinds.isRemoved(ctx, kind, mgr.GetAPIReader()) }
	ours := predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[v1alpha1.LabelFront] == r.Front.Name
	})
	ofPackage := func(_ context.Context, pkg client.Object) []string { return []string{r.Front.groupOf(pkg)} }
	c, err := builder.ControllerManagedBy(mgr).
		Named("front-"+r.Front.Name).
		Watches(&v1alpha1.Package{}, enqueue(ofPackage), builder.WithPredicates(ours, predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: loop.RateLimiter()}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
	}
	watches := append([]Watch{
		{Object: resource, Groups: r.ofResource, Changed: r.asked()},
		{Object: resource, Groups: r.ofResource, Changed: r.undone(), delay: undoneDelay},
	}, r.Front.Watches...)
	for _, watch := range watches {
		if err := r.watch(mgr, kinds, c, watch); err != nil {
			return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
		}
	}
	if err := c.Watch(source.Channel(w.Recovered(), enqueue(r.allGroups))); err != nil {
		return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
	}
	if r.Front.Signal == nil {
		return nil
	}
	if err := c.Watch(source.Channel(r.Front.Signal, enqueue(r.signalled))); err != nil {
		return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
	}
	return nil
}

// watch begins to watch a kind as soon as it is served.
func (r *Reconciler[P, F]) watch(mgr manager.Manager, kinds *Kinds, c controller.Controller, watch Watch) error {
	kind, err := apiutil.GVKForObject(watch.Object, mgr.GetScheme())
	if err != nil {
		return err
	}
	groups, changed := watch.Groups, watch.Changed
	if groups == nil {
		groups = r.allGroups
	}
	if changed == nil {
		changed = predicate.ResourceVersionChangedPredicate{}
	}
	return kinds.Await(kind, watch.Object, func() error {
		return c.Watch(source.Kind(mgr.GetCache(), watch.Object, delayed(enqueue(groups), watch.delay), changed))
	})
}

// enqueue makes a request of each group that an object matters to.
func enqueue(groups func(context.Context, client.Object) []string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, group := range groups(ctx, object) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: group}})
		}
		return requests
	})
}

// delayed makes the requests of a handler after a time, those of that time only once.
func delayed(now handler.EventHandler, delay time.Duration) handler.EventHandler {
	if delay == 0 {
		return now
	}
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		now.Update(ctx, e, lateQueue{queue, delay})
	}}
}

// lateQueue takes requests later.
type lateQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	delay time.Duration
}

// Add adds a request after the delay.
func (q lateQueue) Add(request reconcile.Request) { q.AddAfter(request, q.delay) }

// ofResource is the group of a resource.
func (r *Reconciler[P, F]) ofResource(_ context.Context, object client.Object) []string {
	if resource, ok := object.(P); ok {
		return []string{r.Front.group(resource)}
	}
	return nil
}

// signalled are the groups that a signal is about: that of a resource with a name, else all.
func (r *Reconciler[P, F]) signalled(ctx context.Context, object client.Object) []string {
	if object.GetName() != "" {
		return r.ofResource(ctx, object)
	}
	return r.allGroups(ctx, object)
}

// allGroups are the groups that have a resource.
func (r *Reconciler[P, F]) allGroups(ctx context.Context, _ client.Object) []string {
	if r.Front.Group == nil {
		return []string{r.Front.Name}
	}
	if !r.isServed() {
		return nil
	}
	resources, err := r.list(ctx, r.Client, func(P) bool { return true })
	if err != nil {
		log.FromContext(ctx).Error(err, "Finding the groups that an event concerns")
		return nil
	}
	var groups []string
	for _, resource := range resources {
		groups = append(groups, r.Front.group(resource))
	}
	return groups // the queue takes each of them once
}

// asked lets through news of the front's resources that may ask for something. Our own
// status writes bring no news, and neither do those of other controllers.
func (r *Reconciler[P, F]) asked() predicate.Predicate {
	changed := r.Front.Changed
	if changed == nil {
		changed = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletion)
	}
	selects := func(object client.Object) bool {
		p, ok := object.(P)
		return ok && r.Front.Selects(p)
	}
	selected := predicate.NewPredicateFuncs(selects)
	selected.UpdateFunc = func(e event.UpdateEvent) bool { return selects(e.ObjectOld) || selects(e.ObjectNew) }
	return predicate.And(selected, changed)
}

// undoneDelay is how long it takes until a status or finalizer comes back. It bounds what a
// manager costs that takes them off again and again.
const undoneDelay = 5 * time.Second

// undone lets through that another manager has taken the finalizer off a resource, or has
// written its status. Where a status is not ours alone, a write by another controller costs a
// pass without a request.
func (r *Reconciler[P, F]) undone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(P)
			after, okAfter := e.ObjectNew.(P)
			if !okBefore || !okAfter || !r.Front.Selects(after) || r.own.Has(after) {
				return false
			}
			if name := r.Front.Finalizer; name != "" && controllerutil.ContainsFinalizer(before, name) && !controllerutil.ContainsFinalizer(after, name) {
				return true
			}
			return !equality.Semantic.DeepEqual(statusOf(before), statusOf(after))
		},
	}
}

// statusOf is the status of a resource, nil when it has none.
func statusOf(resource client.Object) any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(resource)
	if err != nil {
		return nil // types of an API can be converted
	}
	return content["status"]
}

// deletion lets through the deletion of a resource, which a finalizer delays.
var deletion = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}
