// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions"
)

// IdentityOf identifies an object to the engine: without the version of its kind.
func IdentityOf(ref v1alpha1.ObjectReference) revisions.ObjectID {
	return revisions.ObjectID{GroupKind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, Namespace: ref.Namespace, Name: ref.Name}
}

// ObjectName is an object for people: its kind, and its namespace and name.
func ObjectName(ref v1alpha1.ObjectReference) string {
	if ref.Namespace == "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " " + ref.Namespace + "/" + ref.Name
}

// Item is one object of a revision's content.
type Item struct {
	// Ref names the object. It is empty when the manifest could not be read, and no
	// status names the object.
	Ref v1alpha1.ObjectReference
	// slice and secret are what the manifest stands in, empty for an inline one.
	slice, Secret string
	// Digest is that of the manifest.
	Digest string
	// Manifest is what is wanted; of one of kind Secret its metadata alone. Nil when it
	// could not be read.
	Manifest *unstructured.Unstructured
	// Retained objects stay when no revision contains them any more.
	Retained bool
}

// IsNamed is false for an object whose kind and name are not known.
func (i Item) IsNamed() bool { return i.Ref.Kind != "" }

// Held is a manifest out of a slice or a Secret.
type Held struct {
	Manifest *unstructured.Unstructured
	// Digest is that of the whole manifest.
	Digest string
}

// Manifests holds the manifests of slices and of Secrets, by reference. What they hold
// never changes, so each is read once.
type Manifests map[content.Reference][]Held

// Keep puts the manifests of a slice into the cache.
func (cache Manifests) Keep(name string, manifests []*unstructured.Unstructured) {
	all := make([]Held, len(manifests))
	for i, manifest := range manifests {
		all[i].Manifest = manifest
		if text, err := content.Canonical(manifest); err == nil {
			all[i].Digest = content.ObjectDigest(text)
		}
	}
	cache[content.Reference{Name: name}] = all
}

// ReferenceIn is where the manifest of an object stands if it is not inline.
func ReferenceIn(object v1alpha1.Object) (content.Reference, bool) {
	switch {
	case object.Slice != nil:
		return content.Reference{Name: object.Slice.Name}, true
	case object.Secret != nil:
		return content.Reference{Name: object.Secret.Name, Secret: true}, true
	}
	return content.Reference{}, false
}

// IndexIn is the place of the manifest of an object in what it refers to.
func IndexIn(object v1alpha1.Object) int {
	switch {
	case object.Slice != nil:
		return int(object.Slice.Index)
	case object.Secret != nil:
		return int(object.Secret.Index)
	}
	return 0
}

// ItemsOf are the objects of each phase of a revision.
func ItemsOf(r *v1alpha1.Revision, slices Manifests) [][]Item {
	phases := make([][]Item, len(r.Spec.Phases))
	for i, phase := range r.Spec.Phases {
		for _, object := range phase.Objects {
			phases[i] = append(phases[i], itemOf(object, slices))
		}
	}
	nameSecrets(r, phases)
	return phases
}

func itemOf(object v1alpha1.Object, slices Manifests) Item {
	it := Item{Retained: object.Deletion == v1alpha1.ObjectRetain}
	reference, refers := ReferenceIn(object)
	switch {
	case refers:
		if reference.Secret {
			it.Secret = reference.Name
			// Without the manifest, only what is in the same place is known to be equal.
			it.Digest = fmt.Sprintf("%s/%d", reference.Name, object.Secret.Index)
		} else {
			it.slice = reference.Name
		}
		if held, at := slices[reference], IndexIn(object); at < len(held) {
			it.Manifest, it.Digest = held[at].Manifest, held[at].Digest
		}
	case object.Object != nil:
		manifest := &unstructured.Unstructured{}
		if manifest.UnmarshalJSON(object.Object.Raw) == nil {
			it.Manifest = manifest
		}
	}
	if it.Manifest == nil {
		return it
	}
	it.Ref = ReferenceOf(it.Manifest)
	it.Retained = content.Retains(it.Manifest, object.Deletion)
	if it.Digest != "" {
		return it
	}
	if text, err := content.Canonical(it.Manifest); err == nil {
		it.Digest = content.ObjectDigest(text)
	}
	return it
}

// nameSecrets names the objects that stand in Secrets which could not be read: the
// status of their revision names those that it has in place, and those that hold it.
func nameSecrets(r *v1alpha1.Revision, phases [][]Item) {
	taken := map[revisions.ObjectID]bool{}
	var unnamed [][]*Item
	for _, items := range phases {
		var own []*Item
		for i := range items {
			taken[IdentityOf(items[i].Ref)] = true
			if !items[i].IsNamed() && items[i].Secret != "" {
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
			it.Ref = nextSecret(known, taken)
		}
	}
}

// nextSecret is the first Secret that is not taken yet, and takes it; empty when
// there is none.
func nextSecret(all []v1alpha1.ObjectReference, taken map[revisions.ObjectID]bool) v1alpha1.ObjectReference {
	for _, ref := range all {
		if id := IdentityOf(ref); id.GroupKind == secretKind && !taken[id] {
			taken[id] = true
			return ref
		}
	}
	return v1alpha1.ObjectReference{}
}

var secretKind = schema.GroupKind{Kind: "Secret"}
