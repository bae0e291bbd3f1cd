// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Superseded are the active revisions older than the target, newest first. They
// are archived as soon as the target's success is on record.
func (l Line) Superseded() []*v1alpha1.Revision {
	if l.Target == nil || !Succeeded(l.Target) {
		return nil
	}
	return l.Serving
}

// LeftBehind are active revisions that a newer one has overtaken before they had
// put anything in place, newest first. They are archived at once, and nothing of
// them is ever rolled out. The caller says which have placed an object.
func (l Line) LeftBehind(hasPlaced func(*v1alpha1.Revision) bool) []*v1alpha1.Revision {
	overtaken := slices.Clone(l.Serving)
	if len(l.Waiting) > 0 {
		overtaken = slices.Concat(l.Waiting[1:], l.Serving)
	}
	return slices.DeleteFunc(overtaken, func(revision *v1alpha1.Revision) bool {
		return Succeeded(revision) || hasPlaced(revision)
	})
}

// Dismissed are the active revisions that a user has deleted and that can be
// released, newest first: they are archived, and are gone once their own objects
// are deleted. The current revision is not among them. It is what runs, and stays
// until another revision has succeeded.
func (l Line) Dismissed() []*v1alpha1.Revision {
	var dismissed []*v1alpha1.Revision
	for _, revision := range l.active() {
		if !revision.DeletionTimestamp.IsZero() && revision != l.Current {
			dismissed = append(dismissed, revision)
		}
	}
	return dismissed
}

func (l Line) active() []*v1alpha1.Revision {
	active := slices.Clone(l.Waiting)
	if l.Target != nil {
		active = append(active, l.Target)
	}
	return append(active, l.Serving...)
}
