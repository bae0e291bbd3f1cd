// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/load"
)

// identity names an object whatever the version of its API.
type identity struct {
	schema.GroupKind

	namespace, name string
}

func identityOf(ref v1alpha1.ObjectReference) identity {
	return identity{GroupKind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, namespace: ref.Namespace, name: ref.Name}
}

// objectName is an object for people: its kind, and its namespace and name.
func objectName(ref v1alpha1.ObjectReference) string {
	if ref.Namespace == "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " " + ref.Namespace + "/" + ref.Name
}

// item is one object of a revision's content.
type item struct {
	// ref names the object. Only slice is set when its slice could not be read.
	ref   v1alpha1.ObjectReference
	slice string
	// digest is that of the manifest.
	digest string
	// manifest is what is wanted.
	manifest *unstructured.Unstructured
	// retained objects stay when no revision contains them any more.
	retained bool
}

// isNamed is false for an object whose slice could not be read.
func (i item) isNamed() bool { return i.ref.Kind != "" }

// sliceCache holds the manifests of slices by name. A slice is immutable, so it
// is read once.
type sliceCache map[string][]*unstructured.Unstructured

// readSlices reads the slices that revisions refer to and that are not in the
// cache yet. What cannot be read is left out, and the errors say why.
func (c *cluster) readSlices(ctx context.Context, cache sliceCache, revisions ...*v1alpha1.Revision) error {
	var failed []error
	for _, r := range revisions {
		for _, phase := range r.Spec.Phases {
			for _, object := range phase.Objects {
				if object.Slice == nil {
					continue
				}
				if _, known := cache[object.Slice.Name]; known {
					continue
				}
				manifests, err := c.readSlice(ctx, object.Slice.Name)
				if err != nil {
					failed = append(failed, err)
				}
				// One that cannot be read is not asked for again.
				cache[object.Slice.Name] = manifests
			}
		}
	}
	return errors.Join(failed...)
}

func (c *cluster) readSlice(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	slice := &v1alpha1.ObjectSlice{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, slice); err != nil {
		return nil, fmt.Errorf("reading ObjectSlice %s: %w", name, err)
	}
	return content.Unpack(slice)
}

// itemsOf are the objects of each phase of a revision.
func itemsOf(r *v1alpha1.Revision, slices sliceCache) [][]item {
	phases := make([][]item, len(r.Spec.Phases))
	for i, phase := range r.Spec.Phases {
		for _, object := range phase.Objects {
			phases[i] = append(phases[i], itemOf(object, slices))
		}
	}
	return phases
}

func itemOf(object v1alpha1.Object, slices sliceCache) item {
	var it item
	switch {
	case object.Slice != nil:
		it.slice = object.Slice.Name
		if held := slices[object.Slice.Name]; int(object.Slice.Index) < len(held) {
			it.manifest = held[object.Slice.Index]
		}
	case object.Object != nil:
		manifest := &unstructured.Unstructured{}
		if manifest.UnmarshalJSON(object.Object.Raw) == nil {
			it.manifest = manifest
		}
	}
	if it.manifest == nil {
		return it
	}
	gvk := it.manifest.GroupVersionKind()
	it.ref = v1alpha1.ObjectReference{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Namespace: it.manifest.GetNamespace(), Name: it.manifest.GetName(),
	}
	it.retained = load.Retains(it.manifest, object.Deletion)
	if text, err := content.Canonical(it.manifest); err == nil {
		it.digest = content.ObjectDigest(text)
	}
	return it
}
