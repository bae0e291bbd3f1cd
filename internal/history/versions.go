// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/strata-run/strata/api/v1alpha1"
)

// minorForm is how a version begins.
var minorForm = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})(?:\D|$)`)

// minorOf reads the major and minor number of a revision's version.
func minorOf(revision *v1alpha1.Revision) (major, minor int, ok bool) {
	if revision.Spec.Origin == nil {
		return 0, 0, false
	}
	parts := minorForm.FindStringSubmatch(revision.Spec.Origin.AppVersion)
	if parts == nil {
		return 0, 0, false
	}
	major, _ = strconv.Atoi(parts[1]) // digits, and few
	minor, _ = strconv.Atoi(parts[2])
	return major, minor, true
}

// tooFarBack says why a rollback may not go from one revision to another, empty when it may:
// the one that it goes from bounds that. A version that is allowed, or is none, passes.
func tooFarBack(from, to *v1alpha1.Revision, allowed string) string {
	if from.Spec.Origin == nil || from.Spec.Origin.RollbackMinors == nil || to.Spec.Origin == nil || to.Spec.Origin.AppVersion == allowed {
		return ""
	}
	major, minor, known := minorOf(from)
	toMajor, toMinor, alsoKnown := minorOf(to)
	limit := int(*from.Spec.Origin.RollbackMinors)
	if !known || !alsoKnown || major == toMajor && toMinor >= minor-limit {
		return ""
	}
	return fmt.Sprintf("version %s of revision %d is too far back from version %s of revision %d: a rollback may go back %d minor versions at once. Take a revision in between, or name the version in the annotation %s of the Package",
		to.Spec.Origin.AppVersion, to.Spec.Revision, from.Spec.Origin.AppVersion, from.Spec.Revision, limit, v1alpha1.AnnotationAllowVersion)
}
