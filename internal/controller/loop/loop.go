// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/internal/controller/decoding"
)

// Object is a pointer to an API type.
type Object[T any] interface {
	*T
	client.Object
}

// Outcome is what a controller's work asks for next.
type Outcome struct {
	// After asks for another pass after that time. 0 asks for none.
	After time.Duration
	// SkipStatus leaves the status unwritten for now; After says when to look again.
	SkipStatus bool
	// Gone says that the object's last finalizer was taken away, so that there is no
	// status to write.
	Gone bool
}

// Worker is a controller's own work on one object. It changes the object's
// status in memory, and leaves it to the loop to write it.
type Worker[P client.Object] interface {
	Work(ctx context.Context, object P) (Outcome, error)
}

// Loop reconciles objects of one type with a worker.
type Loop[T any, P Object[T]] struct {
	// Client reads the object from the cache and writes its status.
	Client client.Client
	// Worker does the work.
	Worker Worker[P]
	// Missing is called with the name of an object that does not exist. Optional.
	Missing func(ctx context.Context, name string) error
	// Wrote is called after a status was written, with the object before and after.
	// Optional.
	Wrote func(before, after P)

	own       OwnWrites[P]
	conflicts Conflicts
}

// Reconcile reads the object, does the work, and writes the status if it differs.
func (l *Loop[T, P]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	cached := P(new(T))
	if err := l.Client.Get(ctx, request.NamespacedName, cached); err != nil {
		if apierrors.IsNotFound(err) && l.Missing != nil {
			err = l.Missing(ctx, request.Name)
		}
		return l.conflicts.Decide(ctx, request, Outcome{}, client.IgnoreNotFound(err))
	}
	before := l.own.Newest(cached)
	object, ok := before.DeepCopyObject().(P)
	if !ok {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("copying %T gave another type", before))
	}
	outcome, err := l.Worker.Work(ctx, object)
	if !outcome.SkipStatus && !outcome.Gone {
		wrote, patchErr := PatchStatus(ctx, l.Client, before, object)
		if wrote {
			l.own.Wrote(object)
			if l.Wrote != nil {
				l.Wrote(before, object)
			}
		}
		err = errors.Join(err, patchErr)
	}
	return l.conflicts.Decide(ctx, request, outcome, err)
}

// StatusDiffers says whether PatchStatus would write anything.
func StatusDiffers(before, after client.Object) (bool, error) {
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return false, fmt.Errorf("comparing the status of %s: %w", after.GetName(), err)
	}
	empty, err := changesNothing(data)
	return !empty, err
}

// CaughtUp is that of the loop's objects, see [OwnWrites.CaughtUp].
func (l *Loop[T, P]) CaughtUp() predicate.Predicate { return l.own.CaughtUp() }

// PatchStatus writes an object's status if it differs from before, on condition
// that the object is still what it was, and says whether it did.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object) (bool, error) {
	// An answer that cannot be decoded leaves nothing in the object, not even its name.
	name := after.GetName()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(after)
	if err != nil {
		return false, fmt.Errorf("comparing the status of %s: %w", after.GetName(), err)
	}
	empty, err := changesNothing(data)
	if err != nil || empty {
		return false, err
	}
	into, err := decoding.Receiver(after, c.Scheme())
	if err != nil {
		return false, err
	}
	switch err := c.Status().Patch(ctx, into, client.RawPatch(patch.Type(), data)); {
	case apierrors.IsNotFound(err):
		return false, nil // what is gone has no status
	case err != nil:
		return false, fmt.Errorf("writing the status of %s: %w", name, err)
	}
	after.SetResourceVersion(into.GetResourceVersion())
	return true, nil
}

// RateLimiter spaces the tries of an object that fails: from 200 ms on, doubled
// each time, up to a minute.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, time.Minute)
}
