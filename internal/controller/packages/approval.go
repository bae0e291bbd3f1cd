// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

// withhold is the line as it may be rolled out. A revision that has started paused
// for want of approval, and has it now, is activated. While the newest revision is
// withheld, an older one that may be rolled out and is not done goes on: no user
// has approved half of a rollout.
func (w *Worker) withhold(ctx context.Context, pkg *v1alpha1.Package, line history.History, known *memory) (history.History, error) {
	if line.Target == nil {
		return line, nil
	}
	if w.withheld(ctx, pkg, line, line.Target, known) == "" {
		target, err := w.activate(ctx, line.Target, known)
		line.Target = target
		return line, err
	}
	for i, revision := range line.Serving {
		if history.Succeeded(revision) {
			break
		}
		isPaused := revision.Spec.LifecycleState == v1alpha1.LifecyclePaused && !history.IsAwaiting(revision)
		if isPaused || w.withheld(ctx, pkg, line, revision, known) != "" {
			continue
		}
		activated, err := w.activate(ctx, revision, known)
		line.Serving[i] = activated
		return line.Before(activated), err
	}
	return line, nil
}

// withheld says why a revision of the line may not be rolled out yet. Content that
// cannot be had has no digest, and is not rolled out anyway. What is on record may be
// older than what the revision has put in place.
func (w *Worker) withheld(ctx context.Context, pkg *v1alpha1.Package, line history.History, revision *v1alpha1.Revision, known *memory) string {
	if !history.NeedsApproval(pkg) || len(known.records[revision.UID]) > 0 {
		return ""
	}
	digest, _ := w.digest(ctx, revision, known)
	return line.Unapproved(pkg, revision, digest)
}

// activate activates a revision that has waited for approval. Others stay as they
// are.
func (w *Worker) activate(ctx context.Context, revision *v1alpha1.Revision, known *memory) (*v1alpha1.Revision, error) {
	if !history.IsAwaiting(revision) {
		return revision, nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	before.Spec.LifecycleState = revision.Spec.LifecycleState
	after := before.DeepCopy()
	after.Spec.LifecycleState = v1alpha1.LifecycleActive
	delete(after.Annotations, v1alpha1.AnnotationAwaitingApproval)
	if err := w.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return revision, fmt.Errorf("activating revision %d: %w", revision.Spec.Revision, err)
	}
	return known.remember(revision, after), nil
}

// digest is that of a revision's content. It is computed once where
// spec.contentDigest is empty, and is empty for content that cannot be read.
func (w *Worker) digest(ctx context.Context, revision *v1alpha1.Revision, known *memory) (string, error) {
	digest, ok := known.digests[revision.UID]
	if !ok {
		var err error
		if digest, err = content.DigestOf(ctx, w.Contents, revision); err != nil {
			return "", err
		}
		known.digests[revision.UID] = digest
	}
	return digest, nil
}

// digestOf is [Worker.digest] for decisions about the line. The cache does not keep the
// content of what is archived: it is read where spec.contentDigest is empty.
func (w *Worker) digestOf(ctx context.Context, known *memory) history.Digest {
	return func(revision *v1alpha1.Revision) string {
		if revision.Spec.ContentDigest != "" {
			return revision.Spec.ContentDigest
		}
		if revision.Status.ArchivedAt != nil {
			whole := &v1alpha1.Revision{}
			if err := w.Live.Get(ctx, client.ObjectKeyFromObject(revision), whole); err != nil {
				return ""
			}
			revision = whole
		}
		digest, _ := w.digest(ctx, revision, known) // what cannot be had counts as other content
		return digest
	}
}
