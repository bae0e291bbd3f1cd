// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

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
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
)

// Setup adds the loop to a manager. Changes name the packages whose objects have
// changed.
func Setup(ctx context.Context, mgr manager.Manager, worker *Worker, changes *Changes) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	byPackage := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		revision, ok := object.(*v1alpha1.Revision)
		if !ok {
			return nil
		}
		return []reconcile.Request{requestFor(revision.Spec.Package)}
	})
	packages := &loop.Loop[v1alpha1.Package, *v1alpha1.Package]{Client: mgr.GetClient(), Worker: worker, Missing: worker.Orphaned, Wrote: worker.statusWritten}
	bld := builder.ControllerManagedBy(mgr)
	for _, kind := range content.Kinds() {
		bld = bld.Watches(kind, byContent(mgr))
	}
	err := bld.
		Named("package").
		For(&v1alpha1.Package{}, builder.WithPredicates(packages.CaughtUp(), predicate.Or(predicate.GenerationChangedPredicate{}, finalizing))).
		Watches(&v1alpha1.Revision{}, byPackage, builder.WithPredicates(worker.own.CaughtUp(), predicate.GenerationChangedPredicate{})).
		WatchesMetadata(definition(), worker.byDefinition()).
		WatchesRawSource(changes.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: loop.RateLimiter()}).
		Complete(newLanes(packages))
	if err != nil {
		return fmt.Errorf("setting up the package loop: %w", err)
	}
	return nil
}

// finalizing lets through the deletion of a package, and changes of its finalizers
// and of the annotations that checks depend on, which leave the generation alone.
var finalizing = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		for _, annotation := range checkAnnotations {
			if e.ObjectOld.GetAnnotations()[annotation] != e.ObjectNew.GetAnnotations()[annotation] {
				return true
			}
		}
		return len(e.ObjectOld.GetFinalizers()) != len(e.ObjectNew.GetFinalizers()) ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
