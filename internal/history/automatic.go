// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Failure is a rollout that has missed its deadline.
type Failure struct {
	// Digest is that of the target's content, which may not stand in its spec.
	Digest string
	// Cause says what the rollout waited for.
	Cause string
	// At is when the deadline was found to have passed.
	At metav1.Time
}

// AnswerFailure is what spec.onFailure makes of a target that has missed its
// deadline: the revision to create, and the status that records it; or why it is
// left where it is.
//
// Rollbacks do not alternate: a rollback is never rolled back from, and content that
// was rolled back from once is not rolled out again until other content has been in
// between. The limits of a rollback that a user requests are the limits of this one, too.
func (h History) AnswerFailure(pkg *v1alpha1.Package, failure Failure) (*v1alpha1.Revision, *v1alpha1.RollbackStatus, string) {
	if pkg.Spec.OnFailure != v1alpha1.FailureRollback || h.Target == nil || Succeeded(h.Target) {
		return nil, nil, ""
	}
	source, _ := h.newestSource(SpecDigest)
	switch {
	case IsRollback(h.Target):
		return nil, nil, "it is left where it is, as a rollback is not rolled back from"
	case source == nil:
		return nil, nil, "it is left where it is, as no revision with other content has succeeded"
	case h.isRetried(pkg, failure.Digest):
		return nil, nil, fmt.Sprintf("it is left where it is, as its content was rolled back from once, by revision %d", pkg.Status.AutomaticRollback.Revision)
	}
	if why := tooFarBack(h.Target, source, pkg.Annotations[v1alpha1.AnnotationAllowVersion]); why != "" {
		return nil, nil, "it is left where it is, as " + why
	}
	why := fmt.Sprintf("automatic rollback from revision %d to %d: %s", h.Target.Spec.Revision, source.Spec.Revision, failure.Cause)
	next := h.repeat(pkg, source, why)
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1alpha1.AnnotationAutomaticRollback, stamp(failure.At))
	return next, &v1alpha1.RollbackStatus{
		RequestedAt: failure.At, FromRevision: h.Target.Spec.Revision, ToRevision: source.Spec.Revision,
		Revision: next.Spec.Revision, RejectedDigest: failure.Digest,
	}, ""
}

// isRetried says whether the content was rolled back from automatically, and comes
// again without any other content since.
func (h History) isRetried(pkg *v1alpha1.Package, digest string) bool {
	last := pkg.Status.AutomaticRollback
	if last == nil || digest == "" || last.RejectedDigest != digest || isLifted(pkg, last.Revision) {
		return false
	}
	for _, revision := range h.All() {
		if revision.Spec.Revision > last.Revision && revision != h.Target && revision.Spec.ContentDigest != digest {
			return false
		}
	}
	return true
}

// MissingRecord is the record of an automatic rollback that was made and not
// recorded, nil when none is missing. A newer revision may have come since.
func (h History) MissingRecord(pkg *v1alpha1.Package, digest Digest) *v1alpha1.RollbackStatus {
	for _, revision := range h.active() {
		last := pkg.Status.AutomaticRollback
		if !IsRollback(revision) || isMadeByRollback(pkg, revision) || last != nil && last.Revision > revision.Spec.Revision {
			continue
		}
		at, err := time.Parse(time.RFC3339, revision.Annotations[v1alpha1.AnnotationAutomaticRollback])
		source, known := SourceOf(revision)
		if err == nil && known {
			return h.made(&v1alpha1.RollbackStatus{RequestedAt: metav1.NewTime(at)}, revision, source, digest)
		}
	}
	return nil
}
