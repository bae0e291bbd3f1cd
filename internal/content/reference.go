// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"
	"unique"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Reference names an ObjectSlice, or a Secret of the manager's namespace, that
// holds manifests.
type Reference struct {
	// Secret says that it is a Secret.
	Secret bool
	// Name is its name.
	Name string
}

// String names it for people: its kind and its name.
func (r Reference) String() string {
	if r.Secret {
		return "Secret " + r.Name
	}
	return "ObjectSlice " + r.Name
}

// References are what the objects of phases refer to, each once and sorted.
func References(phases []v1alpha1.Phase) []Reference {
	var all []Reference
	var last Reference
	for _, phase := range phases {
		for _, object := range phase.Objects {
			// Objects that stand in one slice follow each other.
			if reference, refers := referenceOf(object); refers && reference != last {
				all = append(all, reference)
				last = reference
			}
		}
	}
	slices.SortFunc(all, func(a, b Reference) int {
		if a.Secret != b.Secret {
			return cmp.Compare(a.String(), b.String())
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return slices.Compact(all)
}

func referenceOf(object v1alpha1.Object) (Reference, bool) {
	switch {
	case object.Slice != nil:
		return Reference{Name: object.Slice.Name}, true
	case object.Secret != nil:
		return Reference{Secret: true, Name: object.Secret.Name}, true
	default:
		return Reference{}, false
	}
}

// OnlyReferences is what is kept in memory of the phases of a revision that is
// history: in one phase, one object for each slice and Secret that they refer to.
// It is nil when they refer to none.
func OnlyReferences(phases []v1alpha1.Phase) []v1alpha1.Phase {
	var objects []v1alpha1.Object
	for _, reference := range References(phases) {
		// Many revisions refer to the same few.
		name := unique.Make(reference.Name).Value()
		if reference.Secret {
			objects = append(objects, v1alpha1.Object{Secret: &v1alpha1.SecretReference{Name: name}})
		} else {
			objects = append(objects, v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: name}})
		}
	}
	if objects == nil {
		return nil
	}
	return []v1alpha1.Phase{{Objects: objects}}
}
