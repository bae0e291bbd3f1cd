// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/loop"
)

// Setup adds a front's loop to a manager. The resource is an empty object of the
// front's type.
func Setup[P client.Object](mgr manager.Manager, resource P, r *Reconciler[P]) error {
	request := []reconcile.Request{{NamespacedName: types.NamespacedName{Name: r.Front.Name}}}
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return request })
	selected := predicate.NewPredicateFuncs(func(object client.Object) bool {
		p, ok := object.(P)
		return ok && r.Front.Selects(p)
	})
	ours := predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[v1alpha1.LabelFront] == r.Front.Name
	})
	// Our own status writes bring no news, and neither do those of others.
	asked := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, leaving)
	err := builder.ControllerManagedBy(mgr).
		Named("front-"+r.Front.Name).
		Watches(resource, all, builder.WithPredicates(selected, asked)).
		Watches(&v1alpha1.Package{}, all, builder.WithPredicates(ours, predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: loop.RateLimiter()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up front %s: %w", r.Front.Name, err)
	}
	return nil
}

// leaving lets through the deletion of a resource, which a finalizer delays.
var leaving = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}
