// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remove takes one object away, or finds that it is gone or has to stay. An error
// leaves it waiting: what is not proven to be gone is not gone.
func (e *Engine) remove(ctx context.Context, in Teardown, phase string, object Object) RemovedObject {
	p := object.prepared
	result := RemovedObject{ID: p.id, Phase: phase, State: RemovalWaiting}
	if mapping, err := e.config.Mapper.RESTMapping(p.kind.GroupKind(), p.kind.Version); err == nil && misplaced(p.id, mapping.Scope.Name()) != "" {
		result.State = RemovalGone
		return result
	}
	current, err := e.live(ctx, p.kind, p.id)
	if meta.IsNoMatchError(err) {
		// The API server may have stopped serving the version of the manifest, and
		// serve another one.
		if mapping, other := e.config.Mapper.RESTMapping(p.kind.GroupKind()); other == nil {
			current, err = e.live(ctx, mapping.GroupVersionKind, p.id)
		}
	}
	switch {
	case provenAbsent(err):
		result.State = RemovalGone
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		if version := e.judgeNoMatch(ctx, &result, p.kind); version != "" {
			e.removeServed(ctx, in, object, &result, p.kind.GroupKind().WithVersion(version))
		}
	case apierrors.IsForbidden(err) && e.wasNeverPlaced(in, p):
		result.State, result.Message = RemovalForeign, "it was never put in place, and may not be read"
	case err != nil:
		result.Err = err
	default:
		e.removeCurrent(ctx, in, object, &result, current)
	}
	return result
}

// wasNeverPlaced says whether an object that may not be read was never created. Who may
// not read it has hardly created it, but rights may have been lost since, and another
// revision may have put it in place, which the watch tells. Where nothing is watched,
// what was created nevertheless carries our owner reference, and goes with the owner.
func (e *Engine) wasNeverPlaced(in Teardown, p *prepared) bool {
	if _, recorded := in.Revision.Records[p.id]; recorded || in.Revision.Succeeded {
		return false
	}
	seen, err := e.config.Cache.Get(p.kind, keyOf(p.id))
	if err != nil {
		return in.OwnerGoes
	}
	if seen == nil {
		return true
	}
	controller := controllerOf(seen)
	return controller == nil || controller.UID != in.Owner.UID
}

// removeServed takes an object away by another version of its kind than that of
// the manifest.
func (e *Engine) removeServed(ctx context.Context, in Teardown, object Object, result *RemovedObject, kind schema.GroupVersionKind) {
	current, err := e.live(ctx, kind, result.ID)
	switch {
	case provenAbsent(err):
		result.State = RemovalGone
	case err != nil:
		result.Err = err
	default:
		e.removeCurrent(ctx, in, object, result, current)
	}
}

// removeCurrent decides about an object that is there, by its live state.
func (e *Engine) removeCurrent(ctx context.Context, in Teardown, object Object, result *RemovedObject, current *unstructured.Unstructured) {
	state := currentOf(current, in.Owner)
	var record *Record
	if known, ok := in.Revision.Records[result.ID]; ok {
		record = &known
	}
	control := controlOf(state, in.Owner, record, object.Retain)
	switch {
	case control == ControlForeign:
		result.State, result.Message = RemovalForeign, foreignText(state, in.Owner)
	case in.Orphan:
		e.release(ctx, result, in.Owner, current, true)
	case object.Retain && e.goesUnused(ctx, in.Owner, object, control, result, current):
		if !isGoing(result, current) {
			e.sendDelete(ctx, result, current)
		}
	case object.Retain:
		// It has our owner reference when another revision had put it in place, and would
		// not be kept for longer than the owner.
		e.release(ctx, result, in.Owner, current, false)
		if result.State == RemovalReleased {
			result.State, result.Message = RemovalRetained, cmp.Or(result.Message, "it is kept on purpose")
		}
	case control != ControlOurs:
		result.State, result.Message = RemovalForeign, "it has no controller, and is not the object that was created"
	case state.Controller == nil:
		// Our owner reference is put back as long as the object is wanted. Who has
		// removed it since wants to keep the object: this is how the garbage
		// collector orphans.
		e.release(ctx, result, in.Owner, current, true)
		result.Message = cmp.Or(result.Message, "its owner reference was taken off, so it stays")
	case isShared(current, in.Owner):
		// The garbage collector keeps it for the other owner, too.
		e.release(ctx, result, in.Owner, current, true)
		result.Message = cmp.Or(result.Message, "it has another owner, so it stays")
	default:
		e.delete(ctx, result, current)
	}
}

// goesUnused says whether a retained object is a CustomResourceDefinition that goes, as it is ours
// and no custom resource of it exists. The message says what keeps it. Where they cannot be
// listed they may exist.
func (e *Engine) goesUnused(ctx context.Context, owner Owner, object Object, control Control, result *RemovedObject, current *unstructured.Unstructured) bool {
	switch {
	case !object.DeleteUnused || result.ID.GroupKind != crdKind:
		return false
	case control != ControlOurs || isShared(current, owner):
		return false
	case current.GetDeletionTimestamp() != nil:
		return true
	}
	left, some, err := e.instancesOf(ctx, current)
	switch {
	case err != nil:
		result.Message = "it is kept, as custom resources of it may exist: " + err.Error()
	case some:
		kind, _ := definedKind(current)
		text, _ := instancesText(left, kind.String())
		result.Message = "it is kept, as " + text
	default:
		return true
	}
	return false
}

// isShared says whether an object has another owner besides. A controller that the object
// was taken over from is none: its reference says controller: false, see retireController.
func isShared(current *unstructured.Unstructured, owner Owner) bool {
	return slices.ContainsFunc(current.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID != owner.UID && ref.Controller == nil
	})
}

// provenAbsent says whether an answer proves that an object does not exist: it is
// about the object, and not about a path that is not served.
func provenAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// delete sends a delete on condition that the object is still in the state given.
func (e *Engine) delete(ctx context.Context, result *RemovedObject, current *unstructured.Unstructured) {
	if isGoing(result, current) {
		return
	}
	if result.ID.GroupKind == crdKind {
		if left, err := e.instancesLeft(ctx, current); left != "" || err != nil {
			result.Message, result.Err = left, err
			return
		}
	}
	e.sendDelete(ctx, result, current)
}

// isGoing says whether an object is being deleted already, and what that waits for.
func isGoing(result *RemovedObject, current *unstructured.Unstructured) bool {
	if current.GetDeletionTimestamp() == nil {
		return false
	}
	result.Message = "it is being deleted"
	if finalizers := current.GetFinalizers(); len(finalizers) > 0 {
		result.Message += ", and waits for its finalizer " + strings.Join(finalizers, ", ")
	}
	return true
}

// sendDelete asks for the deletion of an object in just the state given.
func (e *Engine) sendDelete(ctx context.Context, result *RemovedObject, current *unstructured.Unstructured) {
	err := e.deleteCurrent(ctx, current)
	switch {
	case provenAbsent(err):
		result.State = RemovalGone
	case apierrors.IsConflict(err):
		result.Message = "it changed while it was being deleted, and is checked again"
	case err != nil:
		result.Err = err
	default:
		result.Deleted, result.Message = true, "its deletion was asked for"
	}
}

// deleteCurrent asks for the deletion of an object in just the state given.
func (e *Engine) deleteCurrent(ctx context.Context, current *unstructured.Unstructured) error {
	uid, version := current.GetUID(), current.GetResourceVersion()
	err := e.config.Writer.Delete(ctx, current,
		client.Preconditions{UID: &uid, ResourceVersion: &version},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return fmt.Errorf("deleting: %w", withoutValues(current, err))
	}
	return nil
}

// release takes our owner reference off an object, and our label where that is asked for,
// and leaves the rest.
func (e *Engine) release(ctx context.Context, result *RemovedObject, owner Owner, current *unstructured.Unstructured, label bool) {
	before := current.GetOwnerReferences()
	references := slices.DeleteFunc(slices.Clone(before), func(ref metav1.OwnerReference) bool { return ref.UID == owner.UID })
	metadata := map[string]any{}
	labelled := label && current.GetLabels()[owner.Label] == owner.Name
	if labelled {
		metadata["labels"] = map[string]any{owner.Label: nil}
	}
	if len(references) < len(before) {
		metadata["ownerReferences"] = references
	} else if !labelled {
		result.State = RemovalReleased
		return
	}
	err := e.patchMetadata(ctx, owner, current, metadata)
	switch {
	case err == nil:
		result.State = RemovalReleased
	case provenAbsent(err):
		result.State = RemovalGone
	case apierrors.IsConflict(err):
		result.Message = "it changed while it was being released, and is checked again"
	default:
		result.Err = fmt.Errorf("releasing: %w", withoutValues(current, err))
	}
}

// judgeNoMatch proves whether objects of a kind that the API server does not know
// can exist: they cannot when neither a CustomResourceDefinition defines it nor an
// aggregated API server is registered for its group. Where another version than the
// one that was asked for is served, it is returned, and nothing is judged: a mapper
// may go on to name the version that is gone.
func (e *Engine) judgeNoMatch(ctx context.Context, result *RemovedObject, asked schema.GroupVersionKind) string {
	gk := asked.GroupKind()
	definitions, err := e.list(ctx, schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err != nil {
		result.Err = fmt.Errorf("proving that the kind %s is gone: %w", gk, err)
		return ""
	}
	for _, definition := range definitions {
		if defined, ok := definedKind(&definition); ok && defined == gk {
			version := anotherVersion(&definition, asked.Version)
			if version == "" {
				result.Err = fmt.Errorf("the kind %s is defined, but not served at the moment", gk)
			}
			return version
		}
	}
	services, err := e.list(ctx, schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIServiceList"})
	// An API server that does not know the kind APIService aggregates nothing.
	if err != nil && !meta.IsNoMatchError(err) {
		result.Err = fmt.Errorf("proving that the kind %s is gone: %w", gk, err)
		return ""
	}
	for _, service := range services {
		if aggregates(&service, gk.Group) {
			result.Err = fmt.Errorf("the kind %s may be served by the APIService %s, which does not answer", gk, service.GetName())
			return ""
		}
	}
	result.State = RemovalGone
	return ""
}

// anotherVersion is a version that a CustomResourceDefinition serves, apart from one;
// empty when there is none.
func anotherVersion(definition *unstructured.Unstructured, but string) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served && name != but {
			return name
		}
	}
	return ""
}

// aggregates says whether an APIService hands a group on to another server.
func aggregates(service *unstructured.Unstructured, group string) bool {
	served, _, _ := unstructured.NestedString(service.Object, "spec", "group")
	behind, _, _ := unstructured.NestedFieldNoCopy(service.Object, "spec", "service")
	return served == group && behind != nil
}

func (e *Engine) list(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind)
	if err := e.config.Live.List(ctx, found); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	return found.Items, nil
}
