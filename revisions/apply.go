// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// neverCurrent is a resourceVersion that no object has. An apply that carries it
// is answered 201 where the object is absent, and 409 where it exists: a create
// in one request, with a managedFields entry of ours from the start. Every
// supported Kubernetes minor is tested for it.
const neverCurrent = "1"

// create applies an object, provided that it does not exist; a conflict says that
// it does.
func (e *Engine) create(ctx context.Context, owner Owner, request *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	request.SetResourceVersion(neverCurrent)
	return e.send(ctx, owner, request)
}

// apply applies an object over the very state that was decided on. The UID keeps it
// from bringing back an object that was deleted meanwhile, the resourceVersion from
// overwriting what another actor has written since: a manager that was frozen among its
// writes may go on long after its successor has finished.
func (e *Engine) apply(ctx context.Context, owner Owner, operation Operation, request, current *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	request.SetUID(current.GetUID())
	request.SetResourceVersion(current.GetResourceVersion())
	if operation == OperationAdopt {
		if err := e.retireController(ctx, owner, request, current); err != nil {
			return nil, err
		}
	}
	return e.send(ctx, owner, request)
}

// retireController turns off the controller flag of a foreign owner, as an object
// may have one controller only, and puts ours in its place with the same request. The
// foreign owner reference itself stays. It is proven first that the API server takes the
// rest: an object must not change hands without it.
func (e *Engine) retireController(ctx context.Context, owner Owner, request, current *unstructured.Unstructured) error {
	if controllerOf(current) == nil {
		return nil
	}
	dryRun := request.DeepCopy()
	dryRun.SetOwnerReferences(nil)
	if _, err := e.patch(ctx, owner, dryRun, client.DryRunAll); err != nil {
		return err
	}
	var references []metav1.OwnerReference
	for _, reference := range current.GetOwnerReferences() {
		if slices.ContainsFunc(request.GetOwnerReferences(), func(own metav1.OwnerReference) bool { return own.UID == reference.UID }) {
			continue
		}
		if reference.Controller != nil {
			*reference.Controller = false
		}
		references = append(references, reference)
	}
	references = append(references, request.GetOwnerReferences()...)
	state := current.DeepCopy()
	if err := e.patchMetadata(ctx, owner, state, map[string]any{"ownerReferences": references}); err != nil {
		return fmt.Errorf("taking over from the controller: %w", withoutValues(current, err))
	}
	request.SetResourceVersion(state.GetResourceVersion())
	return nil
}

// applyOver applies the manifest over the state given, as an update or an adoption. What it
// has to remove although another manager has it is claimed before an update, and after an
// adoption. So are entries of a list that the API server cannot tell apart from ours.
func (e *Engine) applyOver(ctx context.Context, t *task, operation Operation, current *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if operation == OperationApply && len(t.claims(current, nil)) > 0 {
		return e.claimAndApply(ctx, t, current, nil)
	}
	applied, err := e.apply(ctx, t.input.Owner, operation, t.request(), current)
	lists := duplicated(err)
	switch {
	case err == nil && len(t.claims(applied, nil)) > 0:
		return e.claimAndApply(ctx, t, applied, nil)
	case len(lists) > 0 && operation == OperationApply:
		return e.claimAndApply(ctx, t, current, lists)
	}
	return applied, err
}

// claimAndApply claims what has to go, of lists in any case, and applies the manifest over
// exactly the state that has come of it.
func (e *Engine) claimAndApply(ctx context.Context, t *task, current *unstructured.Unstructured, lists []FieldPath) (*unstructured.Unstructured, error) {
	state, err := e.claim(ctx, t, current, lists)
	if err != nil {
		return nil, err
	}
	return e.apply(ctx, t.input.Owner, OperationApply, t.request(), state)
}

// claim moves fields of other managers to our managedFields entry, on condition that the
// object is still as it is read here. It returns that state, which is as given when there
// is nothing to move.
func (e *Engine) claim(ctx context.Context, t *task, current *unstructured.Unstructured, lists []FieldPath) (*unstructured.Unstructured, error) {
	p := t.object.prepared
	live, err := e.live(ctx, p.kind, p.id)
	if err != nil {
		return nil, err
	}
	if live.GetUID() != current.GetUID() || controlOf(currentOf(live, t.input.Owner), t.input.Owner, t.input.Record, t.input.Retain) != ControlOurs {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: p.id.Group, Resource: p.id.Kind}, p.id.Name, errors.New("it is not the object that was read"))
	}
	claims := t.claims(live, lists)
	if len(claims) == 0 {
		return live, nil
	}
	entries, err := claimed(live, t.input.Owner.manager(), claims)
	if err != nil {
		return nil, err
	}
	if err := e.patchMetadata(ctx, t.input.Owner, live, map[string]any{"managedFields": entries}); err != nil {
		return nil, fmt.Errorf("claiming fields of other managers: %w", withoutValues(live, err))
	}
	return live, nil
}

// send applies an object and makes the answer known to the cache.
func (e *Engine) send(ctx context.Context, owner Owner, request *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	answer, err := e.patch(ctx, owner, request)
	if err != nil {
		return nil, err
	}
	Trim(answer, owner.manager())
	e.config.Cache.Observe(answer)
	return answer, nil
}

func (e *Engine) patch(ctx context.Context, owner Owner, request *unstructured.Unstructured, options ...client.PatchOption) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(request.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	answer := blank(request.GroupVersionKind(), IDOf(request))
	options = append(options, client.FieldOwner(owner.manager()), client.ForceOwnership)
	err = e.config.Writer.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), options...)
	if isAnotherObject(err) {
		err = apierrors.NewConflict(schema.GroupResource{Group: request.GroupVersionKind().Group, Resource: request.GetKind()},
			request.GetName(), errors.New("it was deleted and created again"))
	}
	if err != nil {
		return nil, fmt.Errorf("applying: %w", withImmutable(withoutValues(request, err)))
	}
	return answer, nil
}

// patchMetadata changes metadata of an object, on condition that it is still in the state given,
// which becomes the new one.
func (e *Engine) patchMetadata(ctx context.Context, owner Owner, state *unstructured.Unstructured, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = state.GetUID(), state.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return e.config.Writer.Patch(ctx, state, client.RawPatch(types.MergePatchType, data), client.FieldOwner(owner.manager()))
}

// isAnotherObject says whether an apply was refused since the object has another
// UID, which an API server answers as if a client had wanted to change it.
func isAnotherObject(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldValueInvalid && cause.Field == "metadata.uid"
	})
}

// live reads an object from the API server.
func (e *Engine) live(ctx context.Context, kind schema.GroupVersionKind, id ObjectID) (*unstructured.Unstructured, error) {
	answer := blank(kind, id)
	if err := e.config.Live.Get(ctx, keyOf(id), answer); err != nil {
		return nil, fmt.Errorf("reading live: %w", err)
	}
	return answer, nil
}

// blank is an object of which only the identity is known.
func blank(kind schema.GroupVersionKind, id ObjectID) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(id.Namespace)
	obj.SetName(id.Name)
	return obj
}
