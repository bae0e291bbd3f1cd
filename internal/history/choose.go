// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Refusal is why nothing can be rolled back.
type Refusal string

// The refusals.
const (
	// RefusalNoTarget is that of a package without an active revision.
	RefusalNoTarget Refusal = "NoTarget"
	// RefusalNoSource is that no earlier revision has succeeded with content that was not
	// rolled back before.
	RefusalNoSource Refusal = "NoSource"
	// RefusalNotFound is that the revision of the number does not exist.
	RefusalNotFound Refusal = "NotFound"
	// RefusalIsTarget is that the revision of the number is what runs.
	RefusalIsTarget Refusal = "IsTarget"
	// RefusalSameContent is that what runs has the content already.
	RefusalSameContent Refusal = "SameContent"
	// RefusalTooFarBack is that the version of the content may not follow on the one that runs.
	RefusalTooFarBack Refusal = "TooFarBack"
)

const messageNoTarget = "the package has no active revision to roll back from"

// RollbackChoice is what a rollback would do.
type RollbackChoice struct {
	// From is the revision to go back from, nil when there is none. It is the newest one that
	// may be rolled out or has begun.
	From *v1alpha1.Revision
	// To is the revision whose content comes back. With a refusal it is set as far as it is
	// known.
	To *v1alpha1.Revision
	// Passed are newer revisions with content that was rolled back before.
	Passed []int64
	// Refusal says why nothing is rolled back, and Message says it in words; empty when
	// something is.
	Refusal Refusal
	Message string

	past History
}

// ChooseRollback decides what a rollback to the revision of a number would do, for 0 to the
// newest one that has succeeded with other content. The manager acts on it, and the command
// line shows it before it asks the manager.
func (h History) ChooseRollback(pkg *v1alpha1.Package, number int64, digest Digest) RollbackChoice {
	if h.Target == nil {
		return RollbackChoice{Refusal: RefusalNoTarget, Message: messageNoTarget}
	}
	h = h.Begun(pkg, digest)
	c := RollbackChoice{From: h.Target, past: h}
	if c.To = h.Find(number); number == 0 {
		c.To, c.Passed = h.newestSource(digest)
	}
	switch from, to := c.From, c.To; {
	case to == nil && number == 0:
		c.Refusal, c.Message = RefusalNoSource, "no earlier revision has succeeded with content that was not rolled back: name one with spec.rollback.toRevision"
	case to == nil:
		c.Refusal = RefusalNotFound
		c.Message = fmt.Sprintf("revision %d does not exist: it was pruned or never made; strata history %s lists those that do", number, pkg.Name)
	case to == from:
		c.Refusal, c.Message = RefusalIsTarget, fmt.Sprintf("revision %d is the target already", to.Spec.Revision)
	case digest(to) != "" && digest(to) == digest(from):
		c.Refusal = RefusalSameContent
		c.Message = fmt.Sprintf("revision %d has the content that the target, revision %d, has already", to.Spec.Revision, from.Spec.Revision)
	default:
		if why := tooFarBack(from, to, pkg.Annotations[v1alpha1.AnnotationAllowVersion]); why != "" {
			c.Refusal, c.Message = RefusalTooFarBack, why
		}
	}
	return c
}
