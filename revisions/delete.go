// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remove takes one object away, or finds that it is gone or has to stay. An error
// leaves it waiting: what is not proven to be gone is not gone.
func (e *Engine) remove(ctx context.Context, in Teardown, phase string, object Object) RemovedObject {
	result := RemovedObject{ID: IDOf(object.Manifest), Phase: phase, State: RemovalWaiting}
	current, err := e.live(ctx, object.Manifest)
	switch {
	case apierrors.IsNotFound(err):
		result.State = RemovalGone
		return result
	case meta.IsNoMatchError(err):
		e.judgeNoMatch(ctx, &result, object.Manifest.GroupVersionKind().GroupKind())
		return result
	case err != nil:
		result.Err = err
		return result
	}
	state := currentOf(current, in.Owner)
	switch {
	case state.Controller != nil && state.Controller.UID != in.Owner.UID:
		result.State, result.Message = RemovalForeign, "it is controlled by "+controllerText(state.Controller)
	case in.Orphan:
		e.release(ctx, &result, in.Owner, current)
	case object.Retain:
		result.State, result.Message = RemovalRetained, "it is kept on purpose"
	case state.Controller == nil:
		// Without our owner reference nothing but the record proves that it is ours.
		record, known := in.Revision.Records[result.ID]
		if !known || record.UID != state.UID {
			result.State, result.Message = RemovalForeign, "it has no controller, and is not the object that was created"
			return result
		}
		e.delete(ctx, &result, current)
	default:
		e.delete(ctx, &result, current)
	}
	return result
}

// delete sends a delete on condition that the object is still in the state given.
func (e *Engine) delete(ctx context.Context, result *RemovedObject, current *unstructured.Unstructured) {
	if since := current.GetDeletionTimestamp(); since != nil {
		result.Message = "it is being deleted since " + since.UTC().Format(time.RFC3339)
		if finalizers := current.GetFinalizers(); len(finalizers) > 0 {
			result.Message += ", held by finalizer " + strings.Join(finalizers, ", ")
		}
		return
	}
	uid, version := current.GetUID(), current.GetResourceVersion()
	err := e.config.Writer.Delete(ctx, current,
		client.Preconditions{UID: &uid, ResourceVersion: &version},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case apierrors.IsNotFound(err):
		result.State = RemovalGone
	case apierrors.IsConflict(err):
		result.Message = "it changed while it was being deleted, and is looked at again"
	case err != nil:
		result.Err = fmt.Errorf("deleting: %w", err)
	default:
		result.Deleted, result.Message = true, "its deletion was asked for"
	}
}

// release takes our label and owner reference off an object, and leaves the rest.
func (e *Engine) release(ctx context.Context, result *RemovedObject, owner Owner, current *unstructured.Unstructured) {
	references := slices.DeleteFunc(current.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner.UID
	})
	_, labelled := current.GetLabels()[owner.Label]
	if !labelled && len(references) == len(current.GetOwnerReferences()) {
		result.State = RemovalReleased
		return
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": current.GetUID(), "resourceVersion": current.GetResourceVersion(),
		"ownerReferences": references, "labels": map[string]any{owner.Label: nil},
	}}
	data, err := json.Marshal(patch)
	if err != nil {
		result.Err = fmt.Errorf("encoding: %w", err)
		return
	}
	if err := e.config.Writer.Patch(ctx, current, client.RawPatch(types.MergePatchType, data), client.FieldOwner(FieldOwner)); err != nil {
		if !apierrors.IsNotFound(err) {
			result.Err = fmt.Errorf("releasing: %w", err)
			return
		}
	}
	result.State = RemovalReleased
}

// judgeNoMatch proves whether objects of a kind that the API server does not
// know can exist: they cannot when no CustomResourceDefinition defines it.
func (e *Engine) judgeNoMatch(ctx context.Context, result *RemovedObject, gk schema.GroupKind) {
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err := e.config.Live.List(ctx, definitions); err != nil {
		result.Err = fmt.Errorf("proving that the kind %s is gone: %w", gk, err)
		return
	}
	for _, definition := range definitions.Items {
		if defined, ok := definedKind(&definition); ok && defined == gk {
			result.Message = "its kind is defined and not served just now"
			result.Err = errors.New(result.Message)
			return
		}
	}
	result.State = RemovalGone
}
