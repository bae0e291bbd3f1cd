// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
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

// Item is one object of a revision's content. Every view of objects is made from items.
type Item struct {
	// Object is how the revision has it treated, and where its manifest stands.
	Object v1alpha1.Object
	// Ref names the object. It is empty when the manifest could not be read, and no
	// status names the object.
	Ref v1alpha1.ObjectReference
	// slice and secret are what the manifest stands in, empty for an inline one.
	slice, Secret string
	// Digest is that of the manifest.
	Digest string
	// Manifest is what is wanted. Nil when it could not be read.
	Manifest *unstructured.Unstructured
	// Unread is why it could not be.
	Unread error
	// Retained objects stay when no revision contains them any more, and Unused ones are
	// CustomResourceDefinitions that are deleted then when no custom resource of them exists.
	Retained, Unused bool
}

// IsNamed is false for an object whose kind and name are not known.
func (i Item) IsNamed() bool { return i.Ref.Kind != "" }

// Stored is a manifest out of a slice or a Secret.
type Stored struct {
	Manifest *unstructured.Unstructured
	// Digest is that of the whole manifest.
	Digest string
	// Err is why the slice or Secret could not be read, of which this is the only entry then.
	Err error
}

// Manifests are the manifests of slices and of Secrets, by reference. What they contain
// never changes, so each is read once.
type Manifests map[content.Reference][]Stored

// StoredOf are the manifests of a slice.
func StoredOf(manifests []*unstructured.Unstructured) []Stored {
	all := make([]Stored, len(manifests))
	for i, manifest := range manifests {
		all[i].Manifest = manifest
		if text, err := content.Canonical(manifest); err == nil {
			all[i].Digest = content.ObjectDigest(text)
		}
	}
	return all
}

// referenceIn is what the manifest of an object stands in if it is not inline, and its place
// there.
func referenceIn(object v1alpha1.Object) (reference content.Reference, index int, refers bool) {
	switch {
	case object.Slice != nil:
		return content.Reference{Name: object.Slice.Name}, int(object.Slice.Index), true
	case object.Secret != nil:
		return content.Reference{Name: object.Secret.Name, Secret: true}, int(object.Secret.Index), true
	}
	return content.Reference{}, 0, false
}

// ItemsOf are the objects of each phase of a revision.
func ItemsOf(r *v1alpha1.Revision, held Manifests) [][]Item {
	phases := make([][]Item, len(r.Spec.Phases))
	for i, phase := range r.Spec.Phases {
		for _, object := range phase.Objects {
			phases[i] = append(phases[i], itemOf(object, held))
		}
	}
	nameSecrets(r, phases)
	return phases
}

func itemOf(object v1alpha1.Object, all Manifests) Item {
	it := Item{Object: object, Retained: object.Deletion == v1alpha1.ObjectRetain}
	it.Manifest, it.Digest, it.Unread = manifestIn(object, all)
	if reference, index, refers := referenceIn(object); refers && reference.Secret {
		it.Secret = reference.Name
		if it.Unread != nil {
			// Without the manifest, only what is in the same place is known to be equal.
			it.Digest = fmt.Sprintf("%s/%d", reference.Name, index)
		}
	} else {
		it.slice = reference.Name
	}
	if it.Manifest != nil {
		it.Ref, it.Retained = ReferenceOf(it.Manifest), content.Retains(it.Manifest, object.Deletion)
		if it.Retained && object.Deletion == v1alpha1.ObjectDeleteUnused {
			it.Retained, it.Unused = false, true
		}
	}
	return it
}

func manifestIn(object v1alpha1.Object, all Manifests) (*unstructured.Unstructured, string, error) {
	if reference, at, refers := referenceIn(object); refers {
		held := all[reference]
		switch {
		case len(held) > 0 && held[0].Err != nil:
			return nil, "", held[0].Err
		case at >= len(held):
			return nil, "", fmt.Errorf("%s contains %d manifests, and number %d is asked for", reference, len(held), at)
		}
		return held[at].Manifest, held[at].Digest, nil
	}
	if object.Object == nil {
		return nil, "", errors.New("neither object nor slice nor secret is set")
	}
	manifest := &unstructured.Unstructured{}
	if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
		return nil, "", fmt.Errorf("reading an inline manifest: %w", err)
	}
	text, err := content.Canonical(manifest)
	return manifest, content.ObjectDigest(text), err
}

// nameSecrets names the objects that stand in Secrets which could not be read: the
// status of their revision names those that it has in place, and those that block it.
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
