// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"unique"

	"github.com/strata-run/strata/api/v1alpha1"
)

// compact lets a revision in the cache take no more memory than it needs: decoding
// leaves a third of each long list unused, and gives each entry of an inventory its own
// copy of words that all of them share.
func compact(revision *v1alpha1.Revision) {
	revision.Spec.Phases = exact(revision.Spec.Phases)
	for i := range revision.Spec.Phases {
		revision.Spec.Phases[i].Objects = exact(revision.Spec.Phases[i].Objects)
	}
	revision.Status.Inventory = exact(revision.Status.Inventory)
	for i := range revision.Status.Inventory {
		entry := &revision.Status.Inventory[i]
		for _, word := range []*string{&entry.Group, &entry.Version, &entry.Kind, &entry.Namespace, &entry.Action} {
			*word = unique.Make(*word).Value()
		}
	}
}

// exact is a list without room for more.
func exact[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}
