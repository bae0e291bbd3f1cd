// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/telemetry"
)

// Reconciler reconciles the groups of a front, a group at a time.
type Reconciler[P client.Object, F any] struct {
	// Front is the front.
	Front Front[P, F]
	// Client reads from the cache and writes. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Publisher makes packages and revisions.
	Publisher *Publisher
	// Recorder records events. Optional when the front has none.
	Recorder events.EventRecorder

	// isServed says whether the resources can be read. Nil says that they can.
	isServed func() bool
	// isRemoved says whether the CustomResourceDefinition of the resources is being
	// deleted. Nil says that it never is.
	isRemoved func(ctx context.Context) (bool, error)

	// conditions takes in the conditions of a group. Optional.
	conditions func(front, group string, all []telemetry.ResourceCondition)

	own       loop.OwnWrites[P]
	conflicts loop.Conflicts
}

// RenderError says that the resources ask for something that cannot be rendered.
type RenderError struct{ Err error }

// Error is that of the cause.
func (e *RenderError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *RenderError) Unwrap() error { return e.Err }

// Reconcile makes one pass over the group that the request names.
func (r *Reconciler[P, F]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	again, err := r.pass(ctx, request.Name)
	return r.conflicts.Decide(ctx, request, loop.Outcome{After: again}, err)
}

func (r *Reconciler[P, F]) pass(ctx context.Context, name string) (time.Duration, error) {
	if r.isServed != nil && !r.isServed() {
		return 0, nil // nothing is known of the resources, so nothing is taken for unwanted
	}
	if r.Front.Rests != nil && r.Front.Rests() {
		return 0, nil
	}
	in := Input[P, F]{}
	var err error
	if in.Group, err = r.gather(ctx, name); err != nil {
		return 0, err
	}
	if len(in.Resources)+len(in.Deleting)+len(in.Existing) == 0 {
		r.count(name, nil)
		if r.Front.Gone != nil {
			err = r.Front.Gone(ctx, name)
		}
		return 0, err
	}
	// One resource that cannot be written to must not stand in the way of the others.
	refused := r.addFinalizers(ctx, in.Resources)
	if refused != nil && !isRefused(refused) {
		return 0, refused
	}
	state, err := r.work(ctx, &in)
	if loop.IsConflict(err) {
		return 0, err
	}
	statusErr := r.report(ctx, name, slices.Concat(in.Resources, in.Deleting), state)
	if _, ok := errors.AsType[*RenderError](err); ok {
		err = nil // another try renders the same; a change of the resource brings us back
	}
	again := time.Duration(0)
	if r.Front.Again != nil {
		again = r.Front.Again(in.Facts)
	}
	return again, errors.Join(err, statusErr, refused)
}

// Unreadable is the [RenderError] of a resource that does not decode, nil for one that does.
func Unreadable(resource client.Object) error {
	if err := decoding.Problem(resource); err != nil {
		return &RenderError{Err: err}
	}
	return nil
}

// isRefused says whether all parts of an error say that an object is not valid: one that
// a laxer definition of its kind has let through cannot be written to at all.
func isRefused(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(part error) bool { return !isRefused(part) })
	}
	return apierrors.IsInvalid(err)
}

// work observes, renders and publishes, and deletes the packages that are not wanted any more.
// When nothing can be rendered nothing is changed, and there are no states: what runs
// is not what is asked for.
func (r *Reconciler[P, F]) work(ctx context.Context, in *Input[P, F]) (state State[F], err error) {
	var released error // it is no trouble of the packages
	defer func() { state.Err, err = err, errors.Join(err, released) }()
	if r.Front.Observe != nil {
		in.Facts, err = r.Front.Observe(ctx, in.Group)
		if state.Facts = in.Facts; err != nil {
			return state, err
		}
	}
	var wanted []content.Package
	if len(in.Resources) > 0 {
		if wanted, err = r.Front.Render(*in); err != nil {
			// What is wanted is not known, so no package is taken for unwanted.
			if releaseErr := r.release(ctx, in); releaseErr != nil {
				return state, errors.Join(err, releaseErr)
			}
			return state, &RenderError{Err: err}
		}
	}
	if state.Packages, err = r.Publisher.Publish(ctx, r.owner(in.Name), wanted); loop.IsConflict(err) {
		return state, err
	}
	state.Unwanted = unwanted(in.Existing, wanted)
	if len(state.Unwanted) > 0 {
		teardownErr := r.teardown(ctx, *in, &state)
		return state, errors.Join(err, teardownErr)
	}
	released = r.release(ctx, in)
	return state, err
}

// owner is whose packages the group's are.
func (r *Reconciler[P, F]) owner(group string) Owner {
	if r.Front.Group == nil {
		return Owner{Front: r.Front.Name}
	}
	return Owner{Front: r.Front.Name, Group: group}
}

// unwanted are the packages that exist and are not among those that are wanted.
func unwanted(existing []v1alpha1.Package, wanted []content.Package) []v1alpha1.Package {
	var found []v1alpha1.Package
	for i := range existing {
		if !slices.ContainsFunc(wanted, func(w content.Package) bool { return w.Name == existing[i].Name }) {
			found = append(found, existing[i])
		}
	}
	return found
}

// teardown deletes the packages that no resource asks for any more, unless something blocks
// that.
func (r *Reconciler[P, F]) teardown(ctx context.Context, in Input[P, F], state *State[F]) error {
	plan := Teardown{}
	if r.Front.Teardown != nil {
		plan = r.Front.Teardown(in)
	}
	if len(in.Deleting) > 0 && r.isRemoved != nil {
		removed, err := r.isRemoved(ctx)
		if err != nil {
			return err
		}
		if removed {
			// The resources go with their definition, and no user has asked for what they
			// describe to go.
			plan = Teardown{Orphans: namesOf(state.Unwanted)}
		}
	}
	state.Blocked = plan.Blocked
	var due []v1alpha1.Package
	if plan.Blocked == nil {
		due = nextToDelete(state.Unwanted, plan.Order)
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.confirm(ctx, in.Group); err != nil {
		return err
	}
	return r.Publisher.Unpublish(ctx, due, plan.Orphans)
}

func namesOf(unwanted []v1alpha1.Package) []string {
	var names []string
	for i := range unwanted {
		names = append(names, unwanted[i].Name)
	}
	return names
}

// nextToDelete are the packages whose turn it is and that are not being deleted yet.
func nextToDelete(unwanted []v1alpha1.Package, order []string) []v1alpha1.Package {
	turn := slices.IndexFunc(order, func(name string) bool {
		return slices.ContainsFunc(unwanted, func(pkg v1alpha1.Package) bool { return pkg.Name == name })
	})
	var due []v1alpha1.Package
	for i := range unwanted {
		place := slices.Index(order, unwanted[i].Name)
		if unwanted[i].DeletionTimestamp.IsZero() && (place < 0 || place == turn) {
			due = append(due, unwanted[i])
		}
	}
	return due
}

// confirm asks the API server whether a group is what the cache says, before
// something is deleted for want of a resource: a cache that has just been filled from
// an API server that lags behind must not delete anything.
func (r *Reconciler[P, F]) confirm(ctx context.Context, group Group[P]) error {
	live, err := r.list(ctx, r.Live, func(p P) bool { return r.Front.group(p) == group.Name })
	if err != nil {
		return err
	}
	known := slices.Concat(group.Resources, group.Deleting)
	for _, resource := range live {
		i := slices.IndexFunc(known, func(k P) bool { return k.GetUID() == resource.GetUID() })
		if i < 0 || known[i].GetGeneration() != resource.GetGeneration() {
			behind := errors.New("the cache is outdated, and packages might be deleted because of that")
			return apierrors.NewConflict(schema.GroupResource{Resource: r.Front.Name}, resource.GetName(), behind)
		}
	}
	return nil
}
