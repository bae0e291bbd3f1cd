// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/content/plain"
)

// Installed is a release whose objects were adopted without an import, since a package
// renders the same ones.
type Installed struct {
	// Client writes, and Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Namespace and Name are the release's.
	Namespace, Name string
}

// Exists says whether Helm has a version of the release on record.
func (i Installed) Exists(ctx context.Context) (bool, error) {
	versions, err := i.versions(ctx)
	return len(versions) > 0, err
}

// Retire makes the release history: Helm does not own fields of the objects any more,
// as far as we own fields of them, and its records of the release are deleted. The objects
// given stay as they are; others of the release go, as they would with an upgrade of the
// release. It can be done again when it was interrupted.
//
// While Helm owned fields beside us, a later revision could not remove one.
func (i Installed) Retire(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := i.release(ctx, object); err != nil {
			return fmt.Errorf("taking over %s from Helm: %w", plain.NameOf(object), err)
		}
	}
	if err := i.prune(ctx, objects); err != nil {
		return err
	}
	versions, err := i.versions(ctx)
	if err != nil {
		return err
	}
	for n := range versions {
		secret := &versions[n]
		err := i.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Secret %s/%s of a Helm release: %w", secret.Namespace, secret.Name, err)
		}
	}
	return nil
}

// versions are the metadata of the Secrets that contain the release.
func (i Installed) versions(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(secretKind.GroupVersion().WithKind("SecretList"))
	err := i.Live.List(ctx, list, client.InNamespace(i.Namespace), client.MatchingLabels{"owner": "helm", "name": i.Name})
	if err != nil {
		return nil, fmt.Errorf("looking for Helm release %s/%s: %w", i.Namespace, i.Name, err)
	}
	for n := range list.Items {
		list.Items[n].SetGroupVersionKind(secretKind)
	}
	return list.Items, nil
}

// release takes Helm's entries out of an object's managedFields, if ours is among them.
func (i Installed) release(ctx context.Context, object *unstructured.Unstructured) error {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(object.GroupVersionKind())
	err := i.Live.Get(ctx, client.ObjectKeyFromObject(object), current)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	all := current.GetManagedFields()
	rest := slices.DeleteFunc(slices.Clone(all), func(e metav1.ManagedFieldsEntry) bool { return isHelms(e, all) })
	if len(rest) == len(all) || !slices.ContainsFunc(rest, isOurs) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": current.UID, "resourceVersion": current.ResourceVersion, "managedFields": rest,
	}})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return i.Client.Patch(ctx, current, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("strata-front"))
}

// PodFields are the fields of an object that another manager than Helm has set, or has taken out, and
// that an apply of a manifest would set back and so start or stop pods: their paths, sorted.
func (i Installed) PodFields(ctx context.Context, manifest *unstructured.Unstructured) ([]string, error) {
	if !movesPods(manifest, ".spec.template") {
		return nil, nil
	}
	im := &Importer{Client: i.Client}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(manifest.GroupVersionKind())
	if err := i.Live.Get(ctx, client.ObjectKeyFromObject(manifest), current); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	applied, err := im.trial(ctx, manifest)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with what is installed: %w", plain.NameOf(manifest), err)
	}
	entries := current.GetManagedFields()
	current.SetManagedFields(slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool { return !isHelms(e, entries) }))
	managers := diff.Managers(current)
	return slices.DeleteFunc(differences(current, applied), func(path string) bool {
		return !movesPods(manifest, path) || slices.ContainsFunc(managers, func(m diff.Manager) bool { return m.Has(path) })
	}), nil
}
