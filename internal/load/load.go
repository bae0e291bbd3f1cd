// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// InvalidError says that a revision's content cannot be used, whatever the
// cluster does.
type InvalidError struct{ Err error }

// Error is that of the cause.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// Revision loads a revision. Slices are read with reader. A slice that is
// missing or altered, and content that does not match the revision's digest, is
// a *content.UnavailableError; content that can never be used an *InvalidError.
func Revision(ctx context.Context, reader client.Reader, revision *v1alpha1.Revision) (revisions.Revision, error) {
	loaded := revisions.Revision{
		Number:    revision.Spec.Revision,
		Succeeded: history.Succeeded(revision),
		Records:   Records(revision.Status.Inventory),
	}
	manifests, err := Manifests(ctx, reader, revision)
	if err != nil {
		return loaded, err
	}
	if err := checkDigest(revision, manifests); err != nil {
		return loaded, err
	}
	chosen, err := compileProbes(revision.Spec.Probes)
	if err != nil {
		return loaded, &InvalidError{Err: err}
	}
	for i, phase := range revision.Spec.Phases {
		next := revisions.Phase{Name: phase.Name}
		for j, object := range phase.Objects {
			next.Objects = append(next.Objects, chosen.object(manifests[i][j], object, phase))
		}
		loaded.Phases = append(loaded.Phases, next)
	}
	// Content is loaded once and looked at in every pass.
	return loaded.Prepared(), nil
}

// Manifests are those of every phase of a revision, out of the revision and its
// slices.
func Manifests(ctx context.Context, reader client.Reader, revision *v1alpha1.Revision) ([][]*unstructured.Unstructured, error) {
	slices := map[string][]*unstructured.Unstructured{}
	var all [][]*unstructured.Unstructured
	for _, phase := range revision.Spec.Phases {
		var own []*unstructured.Unstructured
		for i, object := range phase.Objects {
			manifest, err := manifestOf(ctx, reader, slices, object)
			if err != nil {
				return nil, fmt.Errorf("phase %s, object %d: %w", phase.Name, i, err)
			}
			if manifest.GetKind() == "Secret" && manifest.GetAPIVersion() == "v1" {
				return nil, &InvalidError{Err: fmt.Errorf("phase %s: Secret %s/%s stands in the revision, where its values can be read: take it out", phase.Name, manifest.GetNamespace(), manifest.GetName())}
			}
			own = append(own, manifest)
		}
		all = append(all, own)
	}
	return all, nil
}

func manifestOf(ctx context.Context, reader client.Reader, slices map[string][]*unstructured.Unstructured, object v1alpha1.Object) (*unstructured.Unstructured, error) {
	if object.Slice == nil {
		manifest := &unstructured.Unstructured{}
		if object.Object == nil {
			return nil, &InvalidError{Err: fmt.Errorf("neither object nor slice is set")}
		}
		if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
			return nil, &InvalidError{Err: fmt.Errorf("reading the manifest: %w", err)}
		}
		return manifest, nil
	}
	held, known := slices[object.Slice.Name]
	if !known {
		slice := &v1alpha1.ObjectSlice{}
		if err := reader.Get(ctx, types.NamespacedName{Name: object.Slice.Name}, slice); err != nil {
			if apierrors.IsNotFound(err) {
				return nil, &content.UnavailableError{Slice: object.Slice.Name, Reason: "does not exist"}
			}
			return nil, fmt.Errorf("reading ObjectSlice %s: %w", object.Slice.Name, err)
		}
		var err error
		if held, err = content.Unpack(slice); err != nil {
			return nil, err
		}
		slices[object.Slice.Name] = held
	}
	if object.Slice.Index < 0 || int(object.Slice.Index) >= len(held) {
		return nil, &InvalidError{Err: fmt.Errorf("ObjectSlice %s holds %d manifests, and number %d is asked for", object.Slice.Name, len(held), object.Slice.Index)}
	}
	return held[object.Slice.Index], nil
}

func checkDigest(revision *v1alpha1.Revision, manifests [][]*unstructured.Unstructured) error {
	if revision.Spec.ContentDigest == "" {
		return nil
	}
	var digests [][]string
	for _, phase := range manifests {
		var own []string
		for _, manifest := range phase {
			text, err := content.Canonical(manifest)
			if err != nil {
				return err
			}
			own = append(own, content.ObjectDigest(text))
		}
		digests = append(digests, own)
	}
	digest, err := content.Digest(revision.Spec.Phases, digests, revision.Spec.Probes)
	if err != nil {
		return err
	}
	if digest != revision.Spec.ContentDigest {
		return &content.UnavailableError{Reason: fmt.Sprintf("the content's digest is %s, and spec.contentDigest says %s: create a new revision", digest, revision.Spec.ContentDigest)}
	}
	return nil
}

// FromInventory is what a revision is known to have put in place, when its content
// cannot be had any more. It is good for a teardown, in reverse order: each object
// is a phase of its own. An object that does not say whose it is stays, as it may
// have been retained.
func FromInventory(revision *v1alpha1.Revision) revisions.Revision {
	known := revisions.Revision{Number: revision.Spec.Revision, Succeeded: history.Succeeded(revision)}
	for i, entry := range revision.Status.Inventory {
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind})
		manifest.SetNamespace(entry.Namespace)
		manifest.SetName(entry.Name)
		object := revisions.Object{Manifest: manifest, Retain: Retains(manifest, "")}
		known.Phases = append(known.Phases, revisions.Phase{Name: fmt.Sprintf("inventory-%d", i), Objects: []revisions.Object{object}})
	}
	return known
}

// Records are what the inventory of a status says of each object.
func Records(inventory []v1alpha1.InventoryEntry) map[revisions.ObjectID]revisions.Record {
	records := map[revisions.ObjectID]revisions.Record{}
	for _, entry := range inventory {
		records[ID(entry.ObjectReference)] = revisions.Record{
			UID: types.UID(entry.UID), Action: revisions.Action(entry.Action),
			Content: entry.Content, Fields: entry.Fields,
		}
	}
	return records
}

// ID is the engine's identity of an object that a status names.
func ID(ref v1alpha1.ObjectReference) revisions.ObjectID {
	return revisions.ObjectID{
		GroupKind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind},
		Namespace: ref.Namespace, Name: ref.Name,
	}
}
