// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/telemetry"
)

// gather reads a group from the cache, or from our own writes where these are newer.
func (r *Reconciler[P, F]) gather(ctx context.Context, name string) (Group[P], error) {
	group := Group[P]{Name: name}
	exist := map[types.UID]bool{}
	resources, err := r.list(ctx, r.Client, func(p P) bool {
		exist[p.GetUID()] = true
		return r.Front.group(p) == name
	})
	if err != nil {
		return group, err
	}
	r.own.ForgetOthers(exist)
	for _, resource := range resources {
		if resource = r.own.Newest(resource); resource.GetDeletionTimestamp().IsZero() {
			group.Resources = append(group.Resources, resource)
		} else {
			group.Deleting = append(group.Deleting, resource)
		}
	}
	group.Existing, err = r.Publisher.packages(ctx, r.Front.Name, func(pkg *v1alpha1.Package) bool { return r.Front.groupOf(pkg) == name })
	return group, err
}

// list reads those of the front's resources that are meant. Only these are copied, as there may be a
// thousand others.
func (r *Reconciler[P, F]) list(ctx context.Context, from client.Reader, meant func(P) bool) ([]P, error) {
	list := r.Front.List()
	if err := from.List(ctx, list, client.InNamespace(r.Front.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the resources of front %s: %w", r.Front.Name, err)
	}
	var selected []P
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if resource, ok := item.(P); !ok || !r.Front.Selects(resource) || !meant(resource) {
			return nil
		}
		if resource, ok := item.DeepCopyObject().(P); ok {
			selected = append(selected, resource)
		}
		return nil
	})
	return selected, err
}

// addFinalizers puts the finalizer on resources.
func (r *Reconciler[P, F]) addFinalizers(ctx context.Context, resources []P) error {
	if r.Front.Finalizer == "" {
		return nil
	}
	return r.change(ctx, resources, func(o client.Object) {
		if p, ok := o.(P); ok && (r.Front.NeedsFinalizer == nil || r.Front.NeedsFinalizer(p, resources)) {
			controllerutil.AddFinalizer(o, r.Front.Finalizer)
		}
	})
}

// release takes the finalizers off the resources that are being deleted, whose group then has
// none of them: no status is written for a resource that is gone.
func (r *Reconciler[P, F]) release(ctx context.Context, in *Input[P, F]) error {
	var staying, going []P
	var kept []error
	for _, resource := range in.Deleting {
		if err := r.stays(resource, in.Facts); err != nil {
			if staying = append(staying, resource); !errors.Is(err, ErrNotYet) {
				kept = append(kept, err)
			}
			continue
		}
		going = append(going, resource)
	}
	finalizers := []string{r.Front.Finalizer}
	if r.Front.Leftovers != nil {
		finalizers = append(finalizers, r.Front.Leftovers(in.Facts)...)
	}
	err := r.change(ctx, going, func(o client.Object) {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(name string) bool { return slices.Contains(finalizers, name) }))
	})
	if in.Deleting = staying; err != nil {
		in.Deleting = slices.Concat(staying, going)
	}
	return errors.Join(append(kept, err)...)
}

func (r *Reconciler[P, F]) stays(resource P, facts F) error {
	if r.Front.Stays == nil {
		return nil
	}
	return r.Front.Stays(resource, facts)
}

// change changes the metadata of resources, those in the list too.
func (r *Reconciler[P, F]) change(ctx context.Context, resources []P, change func(client.Object)) error {
	var errs []error
	for i, resource := range resources {
		changed, ok := resource.DeepCopyObject().(P)
		if !ok {
			continue
		}
		change(changed)
		if slices.Equal(changed.GetFinalizers(), resource.GetFinalizers()) && maps.Equal(changed.GetAnnotations(), resource.GetAnnotations()) {
			continue
		}
		err := r.patch(ctx, resource, changed)
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("changing the metadata of %s: %w", resource.GetName(), err))
			continue
		}
		r.own.Wrote(changed)
		resources[i] = changed
	}
	return errors.Join(errs...)
}

func (r *Reconciler[P, F]) patch(ctx context.Context, before, after P) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(after)
	if err != nil {
		return err
	}
	into, err := decoding.Receiver(after, r.Client.Scheme())
	if err != nil {
		return err
	}
	err = r.Client.Patch(ctx, into, client.RawPatch(patch.Type(), data))
	after.SetResourceVersion(into.GetResourceVersion())
	return err
}

// report writes the state into the resources: annotations, status and events.
func (r *Reconciler[P, F]) report(ctx context.Context, group string, resources []P, state State[F]) error {
	state.Now = r.Publisher.now()
	var errs []error
	changed := make([]P, len(resources))
	for i := range resources {
		errs = append(errs, r.annotate(ctx, resources[i:i+1], state))
		after, err := r.writeStatus(ctx, resources[i], state)
		changed[i], errs = after, append(errs, err)
	}
	r.count(group, changed)
	return errors.Join(errs...)
}

// count hands the conditions of a group's resources to the metrics.
func (r *Reconciler[P, F]) count(group string, resources []P) {
	if r.conditions == nil || r.Front.Conditions == nil {
		return
	}
	var all []telemetry.ResourceCondition
	for _, resource := range resources {
		all = append(all, r.Front.Conditions(resource)...)
	}
	r.conditions(r.Front.Name, group, all)
}

func (r *Reconciler[P, F]) annotate(ctx context.Context, resource []P, state State[F]) error {
	if r.Front.Annotations == nil {
		return nil
	}
	wanted := r.Front.Annotations(resource[0], state)
	return r.change(ctx, resource, func(o client.Object) {
		annotations := maps.Clone(o.GetAnnotations())
		if annotations == nil && len(wanted) > 0 {
			annotations = map[string]string{}
		}
		maps.Copy(annotations, wanted)
		o.SetAnnotations(annotations)
	})
}

// writeStatus writes the status that a resource should have, and returns the resource with it.
func (r *Reconciler[P, F]) writeStatus(ctx context.Context, before P, state State[F]) (P, error) {
	after, differs, err := r.withStatus(before, state)
	if err != nil || !differs {
		return after, err
	}
	if r.Front.LiveStatus {
		live, ok := before.DeepCopyObject().(P)
		if !ok {
			return after, nil
		}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(before), live); err != nil {
			return after, client.IgnoreNotFound(err)
		}
		before = live
		if after, _, err = r.withStatus(before, state); err != nil {
			return after, err
		}
	}
	wrote, err := loop.PatchStatus(ctx, r.Client, before, after)
	if wrote {
		r.own.Wrote(after)
		r.announce(before, after)
	}
	return after, err
}

// withStatus is a resource with the status that it should have, and whether that
// differs from the one that it has.
func (r *Reconciler[P, F]) withStatus(before P, state State[F]) (P, bool, error) {
	after, ok := before.DeepCopyObject().(P)
	if !ok {
		return before, false, nil
	}
	r.Front.Status(after, state)
	differs, err := loop.StatusDiffers(before, after)
	return after, differs, err
}

func (r *Reconciler[P, F]) announce(before, after P) {
	if r.Front.Events == nil || r.Recorder == nil {
		return
	}
	for _, e := range r.Front.Events(before, after) {
		var related runtime.Object
		if e.Related != nil {
			related = e.Related
		}
		r.Recorder.Eventf(after, related, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
