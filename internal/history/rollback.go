// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"maps"
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

// Digest is the digest of a revision's content, empty when it is not known.
type Digest func(revision *v1alpha1.Revision) string

// SpecDigest is the digest in a revision's own spec.
func SpecDigest(revision *v1alpha1.Revision) string { return revision.Spec.ContentDigest }

// Rollback answers the package's rollback request: the revision to create, and
// the status that records it. The revision is nil when the request is refused,
// and the status' message then says why; or when the target was made for this
// very request already, and only the record of it got lost.
func (h History) Rollback(pkg *v1alpha1.Package, digest Digest) (*v1alpha1.Revision, *v1alpha1.RollbackStatus) {
	request := pkg.Spec.Rollback
	outcome := &v1alpha1.RollbackStatus{RequestedAt: request.RequestedAt, ToRevision: request.ToRevision}
	refuse := func(format string, args ...any) (*v1alpha1.Revision, *v1alpha1.RollbackStatus) {
		outcome.Message = fmt.Sprintf(format, args...)
		return nil, outcome
	}
	if h.Target == nil {
		return refuse("%s", messageNoTarget)
	}
	if made, source := h.madeFor(pkg); made != nil {
		return nil, h.made(outcome, made, source, digest)
	}
	choice := h.ChooseRollback(pkg, request.ToRevision, digest)
	h, outcome.FromRevision = choice.past, choice.From.Spec.Revision
	if choice.Refusal != "" {
		return refuse("%s", choice.Message)
	}
	source := choice.To
	outcome.ToRevision = source.Spec.Revision
	outcome.RejectedDigest = digest(h.Target)
	why := fmt.Sprintf("rollback from revision %d to %d", h.Target.Spec.Revision, source.Spec.Revision)
	if len(choice.Passed) > 0 {
		why += fmt.Sprintf(", past revision %s, which was rolled back before", listed(choice.Passed))
	}
	if request.Reason != "" {
		why += ": " + request.Reason
	}
	next := h.repeat(pkg, source, why)
	next.Spec.Origin.CreatedBy = request.By
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1alpha1.AnnotationRequestedAt, stamp(request.RequestedAt))
	outcome.Revision = next.Spec.Revision
	return next, outcome
}

// Begun is the history as of the newest revision that may be rolled out or has begun: what
// waits for approval has put nothing in place, and nothing is rolled back from it. It is
// the history itself when all active revisions wait.
func (h History) Begun(pkg *v1alpha1.Package, digest Digest) History {
	waits := func(revision *v1alpha1.Revision) bool {
		return IsAwaiting(revision) || NeedsApproval(pkg) && h.Unapproved(pkg, revision, digest(revision)) != ""
	}
	if h.Target == nil || !waits(h.Target) {
		return h
	}
	for _, revision := range h.Serving {
		if !waits(revision) {
			return h.Before(revision)
		}
	}
	return h
}

func listed(of []int64) string {
	var texts []string
	for _, number := range of {
		texts = append(texts, strconv.FormatInt(number, 10))
	}
	return strings.Join(texts, ", ")
}

// repeat is the next revision with the content of an earlier one. Content that has
// succeeded needs no approval.
func (h History) repeat(pkg *v1alpha1.Package, source *v1alpha1.Revision, why string) *v1alpha1.Revision {
	content := Content{
		Phases: source.Spec.Phases, Probes: source.Spec.Probes, Digest: source.Spec.ContentDigest,
		Origin: rollbackOrigin(source, why),
	}
	if content.Origin.Identity != "" { // its labels and annotations say what it is
		content.Labels, content.Annotations = foreign(source.Labels), foreign(source.Annotations)
	}
	next := h.Next(pkg, content)
	if h.hasSucceeded(content.Digest) {
		next = h.next(pkg, content)
	}
	// What waits for approval is newer, and not what is rolled back.
	next.Spec.Previous = h.Target.Spec.Revision
	return next
}

// madeFor is the revision that was made for the package's rollback request, nil
// when none was, and the number of the one whose content it has. A newer revision
// may have come since. The request's time is compared as it was noted, not with a
// time of the API server's clock.
func (h History) madeFor(pkg *v1alpha1.Package) (made *v1alpha1.Revision, source int64) {
	request := pkg.Spec.Rollback
	for _, revision := range h.All() {
		if !IsRollback(revision) || revision.Annotations[v1alpha1.AnnotationRequestedAt] != stamp(request.RequestedAt) {
			continue
		}
		source, known := SourceOf(revision)
		if known && (request.ToRevision == 0 || request.ToRevision == source) {
			return revision, source
		}
	}
	return nil, 0
}

// IsRollback says whether a revision was made by a rollback.
func IsRollback(revision *v1alpha1.Revision) bool {
	return revision.Spec.Origin != nil && revision.Spec.Origin.Kind == v1alpha1.OriginRollback
}

// SourceOf is the number of the revision that a rollback has repeated.
func SourceOf(revision *v1alpha1.Revision) (int64, bool) {
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
func (h History) made(outcome *v1alpha1.RollbackStatus, revision *v1alpha1.Revision, source int64, digest Digest) *v1alpha1.RollbackStatus {
	outcome.Revision, outcome.ToRevision, outcome.FromRevision = revision.Spec.Revision, source, revision.Spec.Previous
	if from := h.Find(outcome.FromRevision); from != nil {
		outcome.RejectedDigest = digest(from)
	}
	return outcome
}

// newestSource is the newest revision older than the target that has succeeded with other
// content, nil when there is none. Content that was rolled back on the way to the target is
// passed over, and passed are the revisions with it.
func (h History) newestSource(digest Digest) (source *v1alpha1.Revision, passed []int64) {
	rejected := h.rejected(digest)
	for _, revision := range h.All() {
		if revision.Spec.Revision >= h.Target.Spec.Revision || !Succeeded(revision) {
			continue
		}
		switch content := digest(revision); { // content made by hand may have none, and counts as other
		case content != "" && content == digest(h.Target):
		case rejected[content]:
			passed = append(passed, revision.Spec.Revision)
		default:
			return revision, passed
		}
	}
	return nil, nil
}

// rejected are the digests of what the target was made to replace, when it is a rollback,
// and the rollbacks before it.
func (h History) rejected(digest Digest) map[string]bool {
	all := map[string]bool{}
	for at := h.Target; at != nil && IsRollback(at) && at.Spec.Previous < at.Spec.Revision; at = h.Find(at.Spec.Previous) {
		if from := h.Find(at.Spec.Previous); from != nil && digest(from) != "" {
			all[digest(from)] = true
		}
	}
	return all
}

// foreign are labels or annotations that are neither our own nor kubectl's.
func foreign(all map[string]string) map[string]string {
	kept := maps.Clone(all)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return strings.HasPrefix(key, "strata.run/") || strings.HasPrefix(key, "kubectl.kubernetes.io/")
	})
	return kept
}

// rollbackOrigin keeps what the content is, and adds why it is rolled out again.
func rollbackOrigin(source *v1alpha1.Revision, why string) v1alpha1.Origin {
	origin := v1alpha1.Origin{}
	if source.Spec.Origin != nil {
		origin = *source.Spec.Origin.DeepCopy()
	}
	origin.Kind = v1alpha1.OriginRollback
	origin.Reference = "Revision/" + source.Name
	origin.Generation = 0
	origin.CreatedBy = ""
	origin.Reason = why
	if characters := []rune(origin.Reason); len(characters) > reasonLimit {
		origin.Reason = string(characters[:reasonLimit])
	}
	return origin
}
