// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

// compact lets a revision in the cache take no more memory than it needs. Decoding
// leaves a third of each long list unused, gives each entry of an inventory its own copy
// of words that all of them share, and scatters hundreds of small pieces over the heap,
// between others that are soon garbage: the room of these can be used again, and is not
// given back. What is compacted lies in a few blocks.
func compact(revision *v1alpha1.Revision) {
	compactPhases(revision)
	revision.Status.Inventory = exact(revision.Status.Inventory)
	words := make([]*string, 0, 4*len(revision.Status.Inventory))
	for i := range revision.Status.Inventory {
		entry := &revision.Status.Inventory[i]
		for _, word := range []*string{&entry.Group, &entry.Version, &entry.Kind, &entry.Namespace, &entry.Action} {
			*word = unique.Make(*word).Value()
		}
		words = append(words, &entry.Name, &entry.UID, &entry.Content, &entry.Fields)
	}
	join(words)
}

// compactPhases puts the manifests that stand in a revision side by side.
func compactPhases(revision *v1alpha1.Revision) {
	revision.Spec.Phases = exact(revision.Spec.Phases)
	count, size := 0, 0
	eachManifest(revision, func(object *v1alpha1.Object) {
		count++
		size += len(object.Object.Raw)
	})
	manifests, text := make([]runtime.RawExtension, 0, count), make([]byte, 0, size)
	for i := range revision.Spec.Phases {
		revision.Spec.Phases[i].Objects = exact(revision.Spec.Phases[i].Objects)
	}
	eachManifest(revision, func(object *v1alpha1.Object) {
		begin := len(text)
		text = append(text, object.Object.Raw...)
		manifests = append(manifests, *object.Object)
		object.Object = &manifests[len(manifests)-1]
		object.Object.Raw = text[begin:len(text):len(text)]
	})
}

// eachManifest calls do for every object whose manifest stands in the revision.
func eachManifest(revision *v1alpha1.Revision, do func(object *v1alpha1.Object)) {
	for i := range revision.Spec.Phases {
		for j := range revision.Spec.Phases[i].Objects {
			if object := &revision.Spec.Phases[i].Objects[j]; object.Object != nil && len(object.Object.Raw) > 0 {
				do(object)
			}
		}
	}
}

// join lets words share one block of memory.
func join(words []*string) {
	size := 0
	for _, word := range words {
		size += len(*word)
	}
	var block strings.Builder
	block.Grow(size)
	for _, word := range words {
		block.WriteString(*word)
	}
	rest := block.String()
	for _, word := range words {
		*word, rest = rest[:len(*word)], rest[len(*word):]
	}
}

// exact is a list without room for more.
func exact[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}
