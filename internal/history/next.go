// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// reasonLimit is how many characters spec.origin.reason takes.
const reasonLimit = 1024

// Content is what a new revision is to hold.
type Content struct {
	// Phases, Probes and Digest are the content.
	Phases []v1alpha1.Phase
	Probes []v1alpha1.Probe
	Digest string
	// Origin is where it comes from. It does not make the content different.
	Origin v1alpha1.Origin
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
	// NeedPinned: a rollback keeps the line where it is.
	NeedPinned Need = "Pinned"
)

// NeedFor says whether a front's content needs a revision.
func (l Line) NeedFor(pkg *v1alpha1.Package, digest string) Need {
	handled := pkg.Status.Rollback
	switch {
	case l.Target != nil && l.Target.Spec.ContentDigest == digest:
		return NeedNone
	case pkg.Spec.Rollback != nil && pkg.Spec.Rollback.Pin:
		return NeedPinned
	case pkg.Spec.Rollback != nil && !IsHandled(pkg):
		return NeedPinned // the rollback comes first
	case handled != nil && handled.RejectedDigest == digest && l.Target != nil && l.Target.Spec.Revision == handled.Revision:
		// A newer revision than the rollback's lets the content be tried again.
		return NeedRejected
	default:
		return NeedRevision
	}
}

// Next is the next revision of a package, with the content given.
func (l Line) Next(pkg *v1alpha1.Package, content Content) *v1alpha1.Revision {
	number := l.Highest + 1
	revision := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{
			Name:   v1alpha1.RevisionName(pkg.Name, number),
			Labels: map[string]string{v1alpha1.LabelPackage: pkg.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(pkg, v1alpha1.GroupVersion.WithKind("Package")),
			},
		},
		Spec: v1alpha1.RevisionSpec{
			Package: pkg.Name, Revision: number, LifecycleState: v1alpha1.LifecycleActive,
			Phases: content.Phases, Probes: content.Probes, ContentDigest: content.Digest, Origin: &content.Origin,
		},
	}
	if l.Target != nil {
		revision.Spec.Previous = l.Target.Spec.Revision
	}
	return revision
}

// IsHandled says whether the package's rollback request was handled.
func IsHandled(pkg *v1alpha1.Package) bool {
	request, handled := pkg.Spec.Rollback, pkg.Status.Rollback
	return request == nil || handled != nil && handled.RequestedAt.Equal(&request.RequestedAt) &&
		(request.ToRevision == 0 || handled.ToRevision == request.ToRevision)
}

// Rollback answers the package's rollback request: the revision to create, and
// the status that records it. The revision is nil when the request is refused,
// and the status' message then says why; or when the target was made for this
// very request already, and only the record of it got lost.
func (l Line) Rollback(pkg *v1alpha1.Package) (*v1alpha1.Revision, *v1alpha1.RollbackStatus) {
	request := pkg.Spec.Rollback
	outcome := &v1alpha1.RollbackStatus{RequestedAt: request.RequestedAt, ToRevision: request.ToRevision}
	refuse := func(format string, args ...any) (*v1alpha1.Revision, *v1alpha1.RollbackStatus) {
		outcome.Message = fmt.Sprintf(format, args...)
		return nil, outcome
	}
	if l.Target == nil {
		return refuse("the package has no active revision to roll back from")
	}
	if number, made := madeFor(pkg, l.Target); made {
		return nil, l.made(outcome, number)
	}
	outcome.FromRevision = l.Target.Spec.Revision
	source := l.rollbackSource(request.ToRevision)
	switch {
	case source == nil && request.ToRevision == 0:
		return refuse("no earlier revision has succeeded: name one with spec.rollback.toRevision")
	case source == nil:
		return refuse("revision %d does not exist: it was pruned or never made; strata history %s lists those that do", request.ToRevision, pkg.Name)
	case source == l.Target:
		return refuse("revision %d is the target already", source.Spec.Revision)
	case source.Spec.ContentDigest != "" && source.Spec.ContentDigest == l.Target.Spec.ContentDigest:
		return refuse("revision %d has the content that the target, revision %d, has already", source.Spec.Revision, l.Target.Spec.Revision)
	}
	outcome.ToRevision = source.Spec.Revision
	outcome.RejectedDigest = l.Target.Spec.ContentDigest
	next := l.Next(pkg, Content{
		Phases: source.Spec.Phases, Probes: source.Spec.Probes, Digest: source.Spec.ContentDigest,
		Origin: rollbackOrigin(source, l.Target, request),
	})
	next.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: stamp(request)}
	outcome.Revision = next.Spec.Revision
	return next, outcome
}

// madeFor says whether a revision was made for the package's rollback request,
// and of which revision it has the content. The request's time is compared as it
// was noted, not with a time of the API server's clock.
func madeFor(pkg *v1alpha1.Package, revision *v1alpha1.Revision) (source int64, made bool) {
	origin, request := revision.Spec.Origin, pkg.Spec.Rollback
	if origin == nil || origin.Kind != v1alpha1.OriginRollback || revision.Annotations[v1alpha1.AnnotationRequestedAt] != stamp(request) {
		return 0, false
	}
	digits, ok := strings.CutPrefix(origin.Reference, "Revision/"+pkg.Name+"-")
	if !ok {
		return 0, false
	}
	source, err := strconv.ParseInt(digits, 10, 64)
	return source, err == nil && (request.ToRevision == 0 || request.ToRevision == source)
}

func stamp(request *v1alpha1.Rollback) string { return request.RequestedAt.UTC().Format(time.RFC3339) }

// made records that the target was made for the request, with the content of the
// revision of the number given.
func (l Line) made(outcome *v1alpha1.RollbackStatus, source int64) *v1alpha1.RollbackStatus {
	outcome.Revision, outcome.ToRevision, outcome.FromRevision = l.Target.Spec.Revision, source, l.Target.Spec.Previous
	if from := l.Find(outcome.FromRevision); from != nil {
		outcome.RejectedDigest = from.Spec.ContentDigest
	}
	return outcome
}

func (l Line) rollbackSource(number int64) *v1alpha1.Revision {
	if number != 0 {
		return l.Find(number)
	}
	for _, revision := range l.all() {
		if revision.Spec.Revision < l.Target.Spec.Revision && Succeeded(revision) &&
			revision.Spec.ContentDigest != l.Target.Spec.ContentDigest {
			return revision
		}
	}
	return nil
}

// rollbackOrigin keeps what the content is and tells why it is here again.
func rollbackOrigin(source, target *v1alpha1.Revision, request *v1alpha1.Rollback) v1alpha1.Origin {
	origin := v1alpha1.Origin{}
	if source.Spec.Origin != nil {
		origin = *source.Spec.Origin.DeepCopy()
	}
	origin.Kind = v1alpha1.OriginRollback
	origin.Reference = "Revision/" + source.Name
	origin.Generation = 0
	origin.Reason = fmt.Sprintf("rollback from revision %d to %d", target.Spec.Revision, source.Spec.Revision)
	if request.Reason != "" {
		origin.Reason += ": " + request.Reason
	}
	if characters := []rune(origin.Reason); len(characters) > reasonLimit {
		origin.Reason = string(characters[:reasonLimit])
	}
	return origin
}

// Superseded are the active revisions older than the target, newest first. They
// are archived as soon as the target's success is on record.
func (l Line) Superseded() []*v1alpha1.Revision {
	if l.Target == nil || !meta.IsStatusConditionTrue(l.Target.Status.Conditions, v1alpha1.ConditionSucceeded) {
		return nil
	}
	return l.Serving
}
