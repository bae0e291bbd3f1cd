// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Content is what a new revision is to hold.
type Content struct {
	// Phases, Probes and Digest are the content.
	Phases []v1alpha1.Phase
	Probes []v1alpha1.Probe
	Digest string
	// Origin is where it comes from. Nothing but its identity makes the content different.
	Origin v1alpha1.Origin
	// Labels and Annotations are those of the revision, besides our own.
	Labels, Annotations map[string]string
}

// Need says whether a front's content needs a revision.
type Need string

const (
	// NeedNone: the target has this content.
	NeedNone Need = "None"
	// NeedRevision: no active revision has this content.
	NeedRevision Need = "Revision"
	// NeedRejected: a rollback has rejected this content.
	NeedRejected Need = "Rejected"
	// NeedPinned: a rollback keeps the package where it is.
	NeedPinned Need = "Pinned"
)

// NeedFor says whether a front's content needs a revision.
func (h History) NeedFor(pkg *v1alpha1.Package, digest string) Need {
	switch {
	case h.Target != nil && h.Target.Spec.ContentDigest == digest && h.Target.DeletionTimestamp.IsZero():
		return NeedNone
	case pkg.Spec.Rollback != nil && pkg.Spec.Rollback.Pin:
		return NeedPinned
	case pkg.Spec.Rollback != nil && !IsHandled(pkg):
		return NeedPinned // the rollback comes first
	case h.rejects(pkg, digest):
		return NeedRejected
	default:
		return NeedRevision
	}
}

// LiftsRejection says whether it has to be noted, in the annotation
// [v1alpha1.AnnotationRejectionLifted], that the target's own content is asked for: the
// target is a rollback, and what it has rejected is made when it is asked for after this.
func (h History) LiftsRejection(pkg *v1alpha1.Package) bool {
	return h.Target != nil && IsRollback(h.Target) && !isLifted(pkg, h.Target.Spec.Revision)
}

// Rejected is the revision whose content the target, which is a rollback, keeps out until
// something else is asked for; 0 when it keeps none out.
func (h History) Rejected(pkg *v1alpha1.Package) int64 {
	if !h.LiftsRejection(pkg) {
		return 0
	}
	return h.Target.Spec.Previous
}

// isLifted says whether something else was asked for since the rollback that a revision
// is, so that it rejects nothing any more.
func isLifted(pkg *v1alpha1.Package, rollback int64) bool {
	return pkg.Annotations[v1alpha1.AnnotationRejectionLifted] == strconv.FormatInt(rollback, 10)
}

// rejects says whether the target was made by a rollback from that content, and nothing
// else was asked for since: neither a newer revision, nor the target's own content.
func (h History) rejects(pkg *v1alpha1.Package, digest string) bool {
	if h.Target == nil || digest == "" || isLifted(pkg, h.Target.Spec.Revision) {
		return false
	}
	for _, back := range []*v1alpha1.RollbackStatus{pkg.Status.Rollback, pkg.Status.AutomaticRollback} {
		if back != nil && back.RejectedDigest == digest && back.Revision == h.Target.Spec.Revision {
			return true
		}
	}
	// The revision may be in the cache before the package's status that names it.
	rejected := h.Find(h.Target.Spec.Previous)
	return IsRollback(h.Target) && rejected != nil && rejected.Spec.ContentDigest == digest
}

// ownerReference is that of a package's revision. It does not block the package's
// deletion: with --cascade=foreground the garbage collector would delete the revision,
// and with it what the teardown has to know.
func ownerReference(pkg *v1alpha1.Package) metav1.OwnerReference {
	reference := *metav1.NewControllerRef(pkg, v1alpha1.GroupVersion.WithKind("Package"))
	reference.BlockOwnerDeletion = nil
	return reference
}

// Next is the next revision of a package, with the content given. It starts paused
// when the content is not approved.
func (h History) Next(pkg *v1alpha1.Package, content Content) *v1alpha1.Revision {
	next := h.next(pkg, content)
	if h.Unapproved(pkg, next, content.Digest) != "" {
		next.Spec.LifecycleState = v1alpha1.LifecyclePaused
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1alpha1.AnnotationAwaitingApproval, "")
	}
	return next
}

func (h History) next(pkg *v1alpha1.Package, content Content) *v1alpha1.Revision {
	number := h.Highest + 1
	revision := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{
			Name:       v1alpha1.RevisionName(pkg.Name, number),
			Labels:     map[string]string{v1alpha1.LabelPackage: pkg.Name},
			Finalizers: []string{v1alpha1.FinalizerTeardown},
			OwnerReferences: []metav1.OwnerReference{
				ownerReference(pkg),
			},
		},
		Spec: v1alpha1.RevisionSpec{
			Package: pkg.Name, Revision: number, LifecycleState: v1alpha1.LifecycleActive,
			Phases: content.Phases, Probes: content.Probes, ContentDigest: content.Digest, Origin: &content.Origin,
		},
	}
	for key, value := range content.Labels {
		metav1.SetMetaDataLabel(&revision.ObjectMeta, key, value)
	}
	for key, value := range content.Annotations {
		metav1.SetMetaDataAnnotation(&revision.ObjectMeta, key, value)
	}
	if newest := h.Newest(); newest != nil {
		revision.Spec.Previous = newest.Spec.Revision
	}
	return revision
}
