// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Prune are the archived revisions beyond the package's history limit, oldest
// first. The current one and the newest that has succeeded are never among them,
// and neither is one whose number the package's status does not cover yet: the
// number could be given again.
func (h History) Prune(pkg *v1alpha1.Package) []*v1alpha1.Revision {
	limit := 5
	if pkg.Spec.RevisionHistoryLimit != nil {
		limit = int(*pkg.Spec.RevisionHistoryLimit)
	}
	var beyond []*v1alpha1.Revision
	kept := 0
	for _, revision := range h.Archived {
		if revision == h.Current || revision == h.lastGood || !IsOnRecord(pkg, revision) {
			continue
		}
		kept++
		if kept > limit {
			beyond = append(beyond, revision)
		}
	}
	slices.Reverse(beyond)
	return beyond
}
