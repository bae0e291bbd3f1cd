// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// reasonLimit is how many characters spec.origin.reason takes.
const reasonLimit = 1024

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
	if made, source := l.madeFor(pkg); made != nil {
		return nil, l.made(outcome, made, source)
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
	if why := tooFarBack(l.Target, source, pkg.Annotations[v1alpha1.AnnotationAllowVersion]); why != "" {
		return refuse("%s", why)
	}
	outcome.ToRevision = source.Spec.Revision
	outcome.RejectedDigest = l.Target.Spec.ContentDigest
	why := fmt.Sprintf("rollback from revision %d to %d", l.Target.Spec.Revision, source.Spec.Revision)
	if request.Reason != "" {
		why += ": " + request.Reason
	}
	next := l.repeat(pkg, source, why)
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1alpha1.AnnotationRequestedAt, stamp(request.RequestedAt))
	outcome.Revision = next.Spec.Revision
	return next, outcome
}

// repeat is the next revision with the content of an earlier one. Content that has
// succeeded is not withheld.
func (l Line) repeat(pkg *v1alpha1.Package, source *v1alpha1.Revision, why string) *v1alpha1.Revision {
	content := Content{
		Phases: source.Spec.Phases, Probes: source.Spec.Probes, Digest: source.Spec.ContentDigest,
		Origin: rollbackOrigin(source, why),
	}
	if l.hasSucceeded(content.Digest) {
		return l.next(pkg, content)
	}
	return l.Next(pkg, content)
}

// madeFor is the revision that was made for the package's rollback request, nil
// when none was, and the number of the one whose content it has. A newer revision
// may have come since. The request's time is compared as it was noted, not with a
// time of the API server's clock.
func (l Line) madeFor(pkg *v1alpha1.Package) (made *v1alpha1.Revision, source int64) {
	request := pkg.Spec.Rollback
	for _, revision := range l.All() {
		if !isRollback(revision) || revision.Annotations[v1alpha1.AnnotationRequestedAt] != stamp(request.RequestedAt) {
			continue
		}
		source, known := sourceOf(revision)
		if known && (request.ToRevision == 0 || request.ToRevision == source) {
			return revision, source
		}
	}
	return nil, 0
}

func isRollback(revision *v1alpha1.Revision) bool {
	return revision.Spec.Origin != nil && revision.Spec.Origin.Kind == v1alpha1.OriginRollback
}

// sourceOf is the number of the revision that a rollback has repeated.
func sourceOf(revision *v1alpha1.Revision) (int64, bool) {
	digits, ok := strings.CutPrefix(revision.Spec.Origin.Reference, "Revision/"+revision.Spec.Package+"-")
	if !ok {
		return 0, false
	}
	source, err := strconv.ParseInt(digits, 10, 64)
	return source, err == nil
}

func stamp(at metav1.Time) string { return at.UTC().Format(time.RFC3339) }

// made records that a revision was made as a rollback, with the content of the
// revision of the number given.
func (l Line) made(outcome *v1alpha1.RollbackStatus, revision *v1alpha1.Revision, source int64) *v1alpha1.RollbackStatus {
	outcome.Revision, outcome.ToRevision, outcome.FromRevision = revision.Spec.Revision, source, revision.Spec.Previous
	if from := l.Find(outcome.FromRevision); from != nil {
		outcome.RejectedDigest = from.Spec.ContentDigest
	}
	return outcome
}

func (l Line) rollbackSource(number int64) *v1alpha1.Revision {
	if number != 0 {
		return l.Find(number)
	}
	for _, revision := range l.All() {
		digest := revision.Spec.ContentDigest // content made by hand may not tell it, and counts as other
		if revision.Spec.Revision < l.Target.Spec.Revision && Succeeded(revision) &&
			(digest == "" || digest != l.Target.Spec.ContentDigest) {
			return revision
		}
	}
	return nil
}

// rollbackOrigin keeps what the content is and tells why it is here again.
func rollbackOrigin(source *v1alpha1.Revision, why string) v1alpha1.Origin {
	origin := v1alpha1.Origin{}
	if source.Spec.Origin != nil {
		origin = *source.Spec.Origin.DeepCopy()
	}
	origin.Kind = v1alpha1.OriginRollback
	origin.Reference = "Revision/" + source.Name
	origin.Generation = 0
	origin.Reason = why
	if characters := []rune(origin.Reason); len(characters) > reasonLimit {
		origin.Reason = string(characters[:reasonLimit])
	}
	return origin
}
