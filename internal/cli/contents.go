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
	"github.com/strata-run/strata/revisions"
)

func identityOf(ref v1alpha1.ObjectReference) revisions.ObjectID {
	return revisions.ObjectID{GroupKind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, Namespace: ref.Namespace, Name: ref.Name}
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
	// ref names the object. It is empty when the manifest could not be read, and no
	// status names the object.
	ref v1alpha1.ObjectReference
	// slice and secret are what the manifest stands in, empty for an inline one.
	slice, secret string
	// digest is that of the manifest.
	digest string
	// manifest is what is wanted; of one of kind Secret its metadata alone. Nil when it
	// could not be read.
	manifest *unstructured.Unstructured
	// retained objects stay when no revision contains them any more.
	retained bool
}

// isNamed is false for an object whose kind and name are not known.
func (i item) isNamed() bool { return i.ref.Kind != "" }

// held is a manifest out of a slice or a Secret.
type held struct {
	manifest *unstructured.Unstructured
	// digest is that of the whole manifest.
	digest string
}

// sliceCache holds the manifests of slices and of Secrets, by reference. What they hold
// never changes, so each is read once.
type sliceCache map[content.Reference][]held

// keep puts the manifests of a slice into the cache.
func (cache sliceCache) keep(name string, manifests []*unstructured.Unstructured) {
	all := make([]held, len(manifests))
	for i, manifest := range manifests {
		all[i].manifest = manifest
		if text, err := content.Canonical(manifest); err == nil {
			all[i].digest = content.ObjectDigest(text)
		}
	}
	cache[content.Reference{Name: name}] = all
}

// readSlices reads the slices that revisions refer to and that are not in the
// cache yet. What cannot be read is left out, and the errors say why. Secrets are read,
// for the names of what is in them, as far as one may: few may, and mostly the status
// names it, too.
func (c *cluster) readSlices(ctx context.Context, cache sliceCache, revisions ...*v1alpha1.Revision) error {
	var failed []error
	for _, r := range revisions {
		for _, phase := range r.Spec.Phases {
			for _, object := range phase.Objects {
				reference, refers := referenceIn(object)
				if _, known := cache[reference]; known || !refers {
					continue
				}
				// One that cannot be read is not asked for again.
				cache[reference] = nil
				if reference.Secret {
					c.readSecretNames(ctx, cache, reference)
				} else if err := c.readSlice(ctx, cache, reference.Name); err != nil {
					failed = append(failed, err)
				}
			}
		}
	}
	return errors.Join(failed...)
}

// referenceIn is where the manifest of an object stands if it is not inline.
func referenceIn(object v1alpha1.Object) (content.Reference, bool) {
	switch {
	case object.Slice != nil:
		return content.Reference{Name: object.Slice.Name}, true
	case object.Secret != nil:
		return content.Reference{Name: object.Secret.Name, Secret: true}, true
	}
	return content.Reference{}, false
}

func (c *cluster) readSlice(ctx context.Context, cache sliceCache, name string) error {
	slice := &v1alpha1.ObjectSlice{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, slice); err != nil {
		return fmt.Errorf("reading ObjectSlice %s: %w", name, err)
	}
	manifests, err := content.Unpack(slice)
	if err == nil {
		cache.keep(name, manifests)
	}
	return err
}

// readSecretNames reads the manifests that stand in a Secret, and keeps what is no
// secret of them.
func (c *cluster) readSecretNames(ctx context.Context, cache sliceCache, reference content.Reference) {
	sealed, err := c.contents(defaultManagerNamespace).Secret(ctx, reference.Name)
	if err != nil {
		return
	}
	all := make([]held, len(sealed))
	for i, one := range sealed {
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(one.Manifest.GroupVersionKind())
		manifest.SetNamespace(one.Manifest.GetNamespace())
		manifest.SetName(one.Manifest.GetName())
		manifest.SetLabels(one.Manifest.GetLabels())
		if one.Manifest.GetAnnotations()[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep {
			manifest.SetAnnotations(map[string]string{v1alpha1.AnnotationResourcePolicy: v1alpha1.ResourcePolicyKeep})
		}
		all[i] = held{manifest: manifest, digest: one.Digest}
	}
	cache[reference] = all
}

// itemsOf are the objects of each phase of a revision.
func itemsOf(r *v1alpha1.Revision, slices sliceCache) [][]item {
	phases := make([][]item, len(r.Spec.Phases))
	for i, phase := range r.Spec.Phases {
		for _, object := range phase.Objects {
			phases[i] = append(phases[i], itemOf(object, slices))
		}
	}
	nameSecrets(r, phases)
	return phases
}

func itemOf(object v1alpha1.Object, slices sliceCache) item {
	it := item{retained: object.Deletion == v1alpha1.ObjectRetain}
	switch {
	case object.Secret != nil:
		it.secret = object.Secret.Name
		// Without the manifest, only what is in the same place is known to be equal.
		it.digest = fmt.Sprintf("%s/%d", object.Secret.Name, object.Secret.Index)
		it.take(slices[content.Reference{Name: it.secret, Secret: true}], object.Secret.Index)
	case object.Slice != nil:
		it.slice = object.Slice.Name
		it.take(slices[content.Reference{Name: it.slice}], object.Slice.Index)
	case object.Object != nil:
		manifest := &unstructured.Unstructured{}
		if manifest.UnmarshalJSON(object.Object.Raw) == nil {
			it.manifest = manifest
		}
	}
	if it.manifest == nil {
		return it
	}
	it.ref = referenceOf(it.manifest)
	it.retained = load.Retains(it.manifest, object.Deletion)
	if it.digest != "" {
		return it
	}
	if text, err := content.Canonical(it.manifest); err == nil {
		it.digest = content.ObjectDigest(text)
	}
	return it
}

// take takes a manifest out of those of a slice or Secret.
func (i *item) take(all []held, index int32) {
	if int(index) < len(all) {
		i.manifest, i.digest = all[index].manifest, all[index].digest
	}
}

// nameSecrets names the objects that stand in Secrets which could not be read: the
// status of their revision names those that it has in place, and those that hold it.
func nameSecrets(r *v1alpha1.Revision, phases [][]item) {
	taken := map[revisions.ObjectID]bool{}
	var unnamed [][]*item
	for _, items := range phases {
		var own []*item
		for i := range items {
			taken[identityOf(items[i].ref)] = true
			if !items[i].isNamed() && items[i].secret != "" {
				own = append(own, &items[i])
			}
		}
		unnamed = append(unnamed, own)
	}
	// The inventory is in the order of the phases.
	var placed []v1alpha1.ObjectReference
	for _, entry := range r.Status.Inventory {
		placed = append(placed, entry.ObjectReference)
	}
	for i, items := range unnamed {
		var known []v1alpha1.ObjectReference
		for _, object := range r.Status.Objects {
			if object.Phase == r.Spec.Phases[i].Name {
				known = append(known, object.ObjectReference)
			}
		}
		known = append(known, placed...)
		for _, it := range items {
			it.ref = nextSecret(known, taken)
		}
	}
}

// nextSecret is the first Secret that is not taken yet, and takes it; empty when
// there is none.
func nextSecret(all []v1alpha1.ObjectReference, taken map[revisions.ObjectID]bool) v1alpha1.ObjectReference {
	for _, ref := range all {
		if id := identityOf(ref); id.GroupKind == secretKind && !taken[id] {
			taken[id] = true
			return ref
		}
	}
	return v1alpha1.ObjectReference{}
}

var secretKind = schema.GroupKind{Kind: "Secret"}
