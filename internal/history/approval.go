// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
)

// NeedsApproval says whether the package wants any content approved.
func NeedsApproval(pkg *v1alpha1.Package) bool {
	return pkg.Spec.Approval == v1alpha1.ApprovalManual || len(pkg.Spec.Gates) > 0
}

// Unapproved says why a revision with content of the digest may not be rolled out
// yet, and what lets it; empty when it may.
//
// Approval is needed to begin: a rollout that has put an object in place goes on
// when the approval is taken back or a gate closes; to stop it is what a pause is
// for. What has succeeded once is kept. A rollback to content that has succeeded
// needs no new approval, as the user who requests it may also approve.
func (h History) Unapproved(pkg *v1alpha1.Package, revision *v1alpha1.Revision, digest string) string {
	if Succeeded(revision) || len(revision.Status.Inventory) > 0 {
		return ""
	}
	if isMadeByRollback(pkg, revision) && h.hasSucceeded(digest) {
		return ""
	}
	if digest == "" && NeedsApproval(pkg) {
		return "the digest of its content, to approve it by, could not be worked out"
	}
	var whys []string
	if pkg.Spec.Approval == v1alpha1.ApprovalManual && pkg.Spec.ApprovedDigest != digest {
		whys = append(whys, fmt.Sprintf("its content %s is not approved: strata approve %s --revision %d, or set spec.approvedDigest", digest, pkg.Name, revision.Spec.Revision))
	}
	for _, gate := range pkg.Spec.Gates {
		if gate.ApprovedDigest == digest {
			continue
		}
		why := fmt.Sprintf("gate %s has not let its content %s through", gate.Name, digest)
		if gate.Reason != "" {
			why += ": " + gate.Reason
		}
		whys = append(whys, why)
	}
	return strings.Join(whys, "; ")
}

// Approved is the history as it may be rolled out, and which approvals revisions wait for.
// While the newest one waits, an older one that may be rolled out and is not done goes on: no
// user has approved half of a rollout. The caller says which have placed an object.
func (h History) Approved(pkg *v1alpha1.Package, digest Digest, hasPlaced func(*v1alpha1.Revision) bool) (History, map[types.UID]string) {
	if h.Target == nil || !NeedsApproval(pkg) {
		return h, nil
	}
	unapproved := map[types.UID]string{}
	for i, revision := range append([]*v1alpha1.Revision{h.Target}, h.Serving...) {
		if i > 0 && Succeeded(revision) {
			break
		}
		if !hasPlaced(revision) {
			unapproved[revision.UID] = h.Unapproved(pkg, revision, digest(revision))
		}
		isPaused := i > 0 && revision.Spec.LifecycleState == v1alpha1.LifecyclePaused && !IsAwaiting(revision)
		if unapproved[revision.UID] == "" && !isPaused {
			return h.Before(revision), unapproved
		}
	}
	return h, unapproved
}

// isMadeByRollback says whether a revision is on record as the answer to a
// rollback. What a revision says of itself proves nothing: anybody may have made it.
func isMadeByRollback(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	for _, back := range []*v1alpha1.RollbackStatus{pkg.Status.Rollback, pkg.Status.AutomaticRollback} {
		if back != nil && back.Revision == revision.Spec.Revision {
			return true
		}
	}
	return false
}

func (h History) hasSucceeded(digest string) bool {
	for _, revision := range h.All() {
		if digest != "" && revision.Spec.ContentDigest == digest && Succeeded(revision) {
			return true
		}
	}
	return false
}

// IsAwaiting says whether a revision started paused for want of approval, and not
// since a person has paused it.
func IsAwaiting(revision *v1alpha1.Revision) bool {
	_, awaiting := revision.Annotations[v1alpha1.AnnotationAwaitingApproval]
	return awaiting && revision.Spec.LifecycleState == v1alpha1.LifecyclePaused
}
