// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"slices"
	"strconv"
	"strings"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// Retained are the events about objects that stay on purpose when a revision is archived or,
// without one, when the package is deleted. There is no event when no object stays.
func Retained(pkg *v1alpha1.Package, revision *v1alpha1.Revision, removed []revisions.RemovedObject) []Event {
	var kept []string
	for _, object := range removed {
		name := object.ID.String()
		if why, ok := strings.CutPrefix(object.Message, "it is kept, as "); ok {
			name += " (" + why + ")"
		}
		if object.State == revisions.RemovalRetained && !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	regarding := onPackage(pkg, Event{}).Regarding
	if revision != nil {
		regarding = onRevision(revision, Event{}).Regarding
	}
	return []Event{retained(regarding, kept)}
}

// Pruned is the one event about the archived revisions that were deleted.
func Pruned(pkg *v1alpha1.Package, numbers []int64) []Event {
	if len(numbers) == 0 {
		return nil
	}
	var list []string
	for _, number := range numbers {
		list = append(list, strconv.FormatInt(number, 10))
	}
	return []Event{pruned(pkg, list)}
}
