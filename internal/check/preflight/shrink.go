// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// shrinkFrom is the size from which on a content may not lose more than half of
// its objects without being asked. In smaller ones a single object is too large a
// share.
const shrinkFrom = 4

// checkShrink finds content without objects, and content with less than half of the
// objects of the one before. Usually this is a mistake of the tool or user that
// rendered it, and would delete what runs. The number counts, not the names: a
// version may well rename everything.
func checkShrink(in Input, found *findings) {
	current, ok := currentOf(in.Serving)
	if !ok || in.ContentDigest != "" && in.Package.Annotations[v1alpha1.AnnotationAllowPrune] == in.ContentDigest {
		return
	}
	before, after := countOf(current), countOf(in.Target)
	remedy := "correct the content"
	if in.ContentDigest != "" {
		remedy = fmt.Sprintf("correct the content, or allow exactly this one with the annotation %s: %s on the Package", v1alpha1.AnnotationAllowPrune, in.ContentDigest)
	}
	switch {
	case before > 0 && after == 0:
		found.add(CheckShrink, revisions.ObjectID{}, fmt.Sprintf("revision %d has no objects, and revision %d has %d", in.Target.Number, current.Number, before), remedy)
	case before >= shrinkFrom && after*2 < before:
		found.add(CheckShrink, revisions.ObjectID{}, fmt.Sprintf("revision %d has %d objects, less than half of the %d of revision %d", in.Target.Number, after, before, current.Number), remedy)
	}
}

// currentOf is the newest revision that has succeeded, or the newest one.
func currentOf(serving []revisions.Revision) (revisions.Revision, bool) {
	for _, revision := range serving {
		if revision.Succeeded {
			return revision, true
		}
	}
	if len(serving) > 0 {
		return serving[0], true
	}
	return revisions.Revision{}, false
}

func countOf(revision revisions.Revision) int {
	count := 0
	for _, phase := range revision.Phases {
		count += len(phase.Objects)
	}
	return count
}
