// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Superseded are the active revisions older than the target, newest first. They
// are archived as soon as the target's success is on record.
func (h History) Superseded() []*v1alpha1.Revision {
	if h.Target == nil || !Succeeded(h.Target) {
		return nil
	}
	return h.Serving
}

// LeftBehind are active revisions that a newer one has overtaken before they had
// put anything in place, newest first. They are archived at once, and nothing of
// them is ever rolled out. The caller says which have placed an object.
func (h History) LeftBehind(hasPlaced func(*v1alpha1.Revision) bool) []*v1alpha1.Revision {
	overtaken := slices.Clone(h.Serving)
	if len(h.Waiting) > 0 {
		overtaken = slices.Concat(h.Waiting[1:], h.Serving)
	}
	return slices.DeleteFunc(overtaken, func(revision *v1alpha1.Revision) bool {
		return Succeeded(revision) || hasPlaced(revision)
	})
}

// DeleteRequested are the active revisions that a user has deleted and that can be
// released, newest first: they are archived, and are gone once their own objects
// are deleted. The current revision is not among them. It is what runs, and stays
// until another revision has succeeded.
func (h History) DeleteRequested() []*v1alpha1.Revision {
	var requested []*v1alpha1.Revision
	for _, revision := range h.active() {
		if !revision.DeletionTimestamp.IsZero() && revision != h.Current {
			requested = append(requested, revision)
		}
	}
	return requested
}

func (h History) active() []*v1alpha1.Revision {
	active := slices.Clone(h.Waiting)
	if h.Target != nil {
		active = append(active, h.Target)
	}
	return append(active, h.Serving...)
}
