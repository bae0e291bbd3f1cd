// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/status"
)

// Front is what one front does; all its resources together want one list of
// packages. Every field is required.
type Front[P client.Object] struct {
	// Name is the front's, a DNS label. It stands on its packages.
	Name string
	// Finalizer holds a resource until the packages that nobody else wants are gone.
	Finalizer string
	// List is an empty list of the resources.
	List func() client.ObjectList
	// Selects says which resources are the front's.
	Selects func(P) bool
	// Render is pure: the packages that the resources want, given those that exist.
	Render func(resources []P, existing []v1alpha1.Package) ([]render.Package, error)
	// Status is pure: it sets the conditions on a resource, from the state of the
	// packages or from what kept them from being rendered.
	Status func(resource P, packages []status.FrontPackage, err error, now metav1.Time)
}

// Reconciler reconciles all resources of a front in one pass.
type Reconciler[P client.Object] struct {
	// Front is the front.
	Front Front[P]
	// Client reads from the cache and writes.
	Client client.Client
	// Publisher makes packages and revisions.
	Publisher *Publisher

	own       loop.OwnWrites[P]
	conflicts loop.Conflicts
}

// Reconcile makes one pass over the front's resources.
func (r *Reconciler[P]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.conflicts.Decide(ctx, request, loop.Outcome{}, r.pass(ctx))
}

func (r *Reconciler[P]) pass(ctx context.Context) error {
	resources, err := r.resources(ctx)
	if err != nil {
		return err
	}
	staying, leaving := split(resources)
	if len(staying) == 0 {
		gone, err := r.Publisher.Withdraw(ctx, r.Front.Name)
		if err == nil && gone {
			err = r.release(ctx, leaving)
		}
		return err
	}
	if err := errors.Join(r.release(ctx, leaving), r.hold(ctx, staying)); err != nil {
		return err
	}
	states, err := r.publish(ctx, staying)
	if err != nil && loop.IsConflict(err) {
		return err
	}
	statusErr := r.writeStatus(ctx, staying, states, err)
	if _, ok := errors.AsType[*RenderError](err); ok {
		err = nil // another try renders the same; a change of the resource brings us back
	}
	return errors.Join(err, statusErr)
}

// RenderError says that the resources ask for something that cannot be rendered.
type RenderError struct{ Err error }

// Error is that of the cause.
func (e *RenderError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *RenderError) Unwrap() error { return e.Err }

// publish renders and publishes. When nothing can be rendered nothing is changed,
// and there are no states: what runs is not what is asked for.
func (r *Reconciler[P]) publish(ctx context.Context, resources []P) ([]status.FrontPackage, error) {
	existing, err := r.Publisher.packages(ctx, r.Front.Name)
	if err != nil {
		return nil, err
	}
	wanted, err := r.Front.Render(resources, existing)
	if err != nil {
		return nil, &RenderError{Err: err}
	}
	return r.Publisher.Publish(ctx, r.Front.Name, wanted)
}

func (r *Reconciler[P]) resources(ctx context.Context) ([]P, error) {
	list := r.Front.List()
	if err := r.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the resources of front %s: %w", r.Front.Name, err)
	}
	var selected []P
	err := meta.EachListItem(list, func(item runtimeObject) error {
		if resource, ok := item.(P); ok && r.Front.Selects(resource) {
			selected = append(selected, r.own.Newest(resource))
		}
		return nil
	})
	return selected, err
}

func split[P client.Object](resources []P) (staying, leaving []P) {
	for _, resource := range resources {
		if resource.GetDeletionTimestamp().IsZero() {
			staying = append(staying, resource)
		} else {
			leaving = append(leaving, resource)
		}
	}
	return staying, leaving
}

// hold puts the finalizer on resources; release takes it off.
func (r *Reconciler[P]) hold(ctx context.Context, resources []P) error {
	return r.finalize(ctx, resources, controllerutil.AddFinalizer)
}

func (r *Reconciler[P]) release(ctx context.Context, resources []P) error {
	return r.finalize(ctx, resources, controllerutil.RemoveFinalizer)
}

func (r *Reconciler[P]) finalize(ctx context.Context, resources []P, change func(client.Object, string) bool) error {
	var errs []error
	for i, resource := range resources {
		changed, ok := resource.DeepCopyObject().(P)
		if !ok || !change(changed, r.Front.Finalizer) {
			continue
		}
		err := r.Client.Patch(ctx, changed, client.MergeFromWithOptions(resource, client.MergeFromWithOptimisticLock{}))
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("changing the finalizer of %s: %w", resource.GetName(), err))
			continue
		}
		r.own.Wrote(changed)
		resources[i] = changed
	}
	return errors.Join(errs...)
}

func (r *Reconciler[P]) writeStatus(ctx context.Context, resources []P, states []status.FrontPackage, cause error) error {
	var errs []error
	for _, before := range resources {
		after, ok := before.DeepCopyObject().(P)
		if !ok {
			continue
		}
		r.Front.Status(after, slices.Clone(states), cause, r.Publisher.now())
		wrote, err := loop.PatchStatus(ctx, r.Client, before, after)
		if wrote {
			r.own.Wrote(after)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
