// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content/plain"
)

// helmManagers are the field managers of the helm command, and of OLM's controller: as it uses Helm as
// a library, and by its newer runtime.
var helmManagers = []string{"helm", "operator-controller", "olm.operatorframework.io"}

// writer is the field manager of what an import itself writes.
const writer = "strata-cli"

// tries is how often an object is checked again that changed between a read and a
// write.
const tries = 5

// takeOver makes the fields of one object that Helm owns ours, as far as they stand
// in the manifest, and releases the other fields. It changes metadata alone, and with
// marks also takes Helm's marks off.
//
// Helm owns more than the manifest: with what it has created, all that the API
// server has filled in. If we owned that too, the first apply would remove it, and
// today's defaults would take its place. So no manager owns it afterwards, and it
// stays.
func (i *Importer) takeOver(ctx context.Context, object *Object, allowed Permissions, marks bool) error {
	var err error
	for range tries {
		if err = i.tryTakeOver(ctx, object, allowed, marks); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil && !isRefusal(err) {
		return fmt.Errorf("taking over %s from Helm: %w", plain.NameOf(object.Manifest), err)
	}
	return err
}

func (i *Importer) tryTakeOver(ctx context.Context, object *Object, allowed Permissions, marks bool) error {
	current, found, err := i.current(ctx, object.Manifest)
	if err != nil || !found {
		return err
	}
	applied, err := i.trial(ctx, object.Manifest)
	if err != nil {
		return err
	}
	// It may have changed since the plan.
	now := *object
	now.judge(current, applied)
	if reason := now.refusal(allowed); reason != "" {
		return &RefusedError{Reasons: []string{plain.NameOf(object.Manifest) + " " + reason}}
	}
	patch, err := takeOverPatch(object.Manifest, current, applied, marks)
	if err != nil || patch == nil {
		return err
	}
	return i.Client.Patch(ctx, current, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(writer))
}

// TakeOver hands over the fields of one object as an import does, and replaces its owner references,
// for an object that a package is about to adopt. It changes metadata alone.
func (i Installed) TakeOver(ctx context.Context, manifest *unstructured.Unstructured, replace func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	var err error
	for range tries {
		if err = i.tryTakeOver(ctx, manifest, replace); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil && manifest.GroupVersionKind() == secretKind {
		err = errors.New(withoutValues(manifest, err))
	}
	if err != nil {
		return fmt.Errorf("taking over the fields of %s: %w", plain.NameOf(manifest), err)
	}
	return nil
}

func (i Installed) tryTakeOver(ctx context.Context, manifest *unstructured.Unstructured, replace func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(manifest.GroupVersionKind())
	if err := i.Live.Get(ctx, client.ObjectKeyFromObject(manifest), current); err != nil {
		if meta.IsNoMatchError(err) {
			return nil // the package is to bring its definition
		}
		return client.IgnoreNotFound(err)
	}
	metadata := map[string]any{}
	entries, references := current.GetManagedFields(), current.GetOwnerReferences()
	if current.GetDeletionTimestamp() == nil && slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return isHelms(e, entries) }) {
		applied, err := (&Importer{Client: i.Client}).trial(ctx, manifest)
		if err != nil {
			return err
		}
		if handed, changed := handOver(entries, applied.GetManagedFields()); changed {
			metadata["managedFields"] = handed
		}
	}
	if owners := replace(references); !slices.EqualFunc(owners, references, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }) {
		metadata["ownerReferences"] = owners
	}
	if len(metadata) == 0 {
		return nil
	}
	metadata["uid"], metadata["resourceVersion"] = current.GetUID(), current.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return i.Client.Patch(ctx, current, client.RawPatch(types.MergePatchType, data), client.FieldOwner("strata-front"))
}

// takeOverPatch is the merge patch that hands an object over, nil when there is
// nothing to hand over. It applies to the very state given.
func takeOverPatch(manifest, current, applied *unstructured.Unstructured, marks bool) ([]byte, error) {
	metadata := map[string]any{}
	entries, changed := handOver(current.GetManagedFields(), applied.GetManagedFields())
	if changed {
		metadata["managedFields"] = entries
	}
	if marks {
		addMarks(metadata, manifest, current)
	}
	if len(metadata) == 0 {
		return nil, nil
	}
	metadata["uid"], metadata["resourceVersion"] = current.GetUID(), current.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return data, nil
}

// handOver is managedFields with the entry of our apply in the place of Helm's
// entries, and whether that changes anything. An object without any entry gets ours
// too: the first apply would give all that it finds to a manager of no name.
func handOver(current, applied []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, bool) {
	if len(current) > 0 && !slices.ContainsFunc(current, func(e metav1.ManagedFieldsEntry) bool { return isHelms(e, current) }) {
		return nil, false
	}
	entries := slices.DeleteFunc(slices.Clone(current), func(e metav1.ManagedFieldsEntry) bool {
		return isHelms(e, current) || isOurs(e)
	})
	at := slices.IndexFunc(applied, isOurs)
	if at < 0 {
		return nil, false
	}
	return append(entries, applied[at]), true
}

func isOurs(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == v1alpha1.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// isHelms says whether an entry is Helm's. A program that uses Helm as a library
// writes under its own name; it is known by Helm's annotation, which Helm sets on
// everything that it creates.
func isHelms(e metav1.ManagedFieldsEntry, all []metav1.ManagedFieldsEntry) bool {
	if e.Subresource != "" || isOurs(e) {
		return false
	}
	return slices.Contains(helmManagers, e.Manager) || slices.ContainsFunc(all, func(other metav1.ManagedFieldsEntry) bool {
		return other.Manager == e.Manager && other.Subresource == "" && marksReleases(other)
	})
}

// marksReleases says whether an entry has the annotation that names a release.
func marksReleases(e metav1.ManagedFieldsEntry) bool {
	if e.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Metadata struct {
			Annotations map[string]any `json:"f:annotations"`
		} `json:"f:metadata"`
	}
	if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	return fields.Metadata.Annotations["f:"+annotationReleaseName] != nil
}

// addMarks adds to a patch what takes off Helm's marks that are not in the manifest.
func addMarks(patch map[string]any, manifest, current *unstructured.Unstructured) {
	annotations := map[string]any{}
	for _, key := range []string{annotationReleaseName, annotationReleaseNamespace} {
		_, wanted := manifest.GetAnnotations()[key]
		if _, found := current.GetAnnotations()[key]; found && !wanted {
			annotations[key] = nil
		}
	}
	if len(annotations) > 0 {
		patch["annotations"] = annotations
	}
	_, wanted := manifest.GetLabels()[labelManagedBy]
	if current.GetLabels()[labelManagedBy] == managedByHelm && !wanted {
		patch["labels"] = map[string]any{labelManagedBy: nil}
	}
}
