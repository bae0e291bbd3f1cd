// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

// decision is what a pass has decided about a package.
type decision struct {
	// isPaused says that nothing of the package may be written, and pause why nothing of the
	// target may be.
	isPaused bool
	pause    *v1alpha1.Pause
	// unapproved says which approvals revisions wait for before they may begin.
	unapproved map[types.UID]string
}

// decide answers what a user has requested: it archives revisions that were deleted, makes
// the revision of a rollback, and says whether it did, and finds out which revision may be
// rolled out. One that was made paused for want of approval, and has it now, is activated.
func (p *pass) decide(ctx context.Context) (made bool, err error) {
	if record := p.history.MissingRecord(p.pkg, p.digestOf(ctx)); record != nil {
		p.pkg = onRecord(p.pkg, p.pkg.Status.Rollback, record)
	}
	p.decided.pause = history.PauseOf(p.pkg, p.now.Time)
	if p.decided.isPaused = p.decided.pause != nil; !p.decided.isPaused {
		if err := p.archiveDeleted(ctx); err != nil {
			return false, err
		}
	}
	if !history.IsHandled(p.pkg) {
		if made, err = p.rollBack(ctx); err != nil || made {
			return made, err
		}
	}
	p.history, p.decided.unapproved = p.history.Approved(p.pkg, p.digestOf(ctx), p.state.hasPlaced)
	target := p.history.Target
	if target == nil || p.awaits() != "" {
		return false, nil
	}
	if history.IsAwaiting(target) {
		p.history.Target, err = p.setLifecycle(ctx, target, v1alpha1.LifecycleActive)
	} else if target.Spec.LifecycleState == v1alpha1.LifecyclePaused && p.decided.pause == nil {
		p.decided.pause = &v1alpha1.Pause{Reason: status.PausedRevision(target)}
	}
	return false, err
}

// awaits says which approval the target waits for, empty for none.
func (p *pass) awaits() string { return p.decided.unapproved[p.history.Target.UID] }

// setLifecycle activates a revision that has waited for approval, or archives one.
func (w *Worker) setLifecycle(ctx context.Context, revision *v1alpha1.Revision, state v1alpha1.LifecycleState) (*v1alpha1.Revision, error) {
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	before.Spec.LifecycleState = revision.Spec.LifecycleState
	after := before.DeepCopy()
	after.Spec.LifecycleState = state
	if state == v1alpha1.LifecycleActive {
		delete(after.Annotations, v1alpha1.AnnotationAwaitingApproval)
	}
	if err := w.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		doing := map[v1alpha1.LifecycleState]string{v1alpha1.LifecycleActive: "activating", v1alpha1.LifecycleArchived: "archiving"}[state]
		return revision, fmt.Errorf("%s revision %d: %w", doing, revision.Spec.Revision, err)
	}
	return w.wrote(revision, after), nil
}

// archiveDeleted archives the revisions that a user has deleted, so that their own objects
// are deleted before they are gone.
func (p *pass) archiveDeleted(ctx context.Context) error {
	requested := p.history.DeleteRequested()
	if len(requested) == 0 {
		return nil
	}
	archived := map[types.UID]*v1alpha1.Revision{}
	for _, revision := range requested {
		var err error
		if archived[revision.UID], err = p.setLifecycle(ctx, revision, v1alpha1.LifecycleArchived); err != nil {
			return err
		}
	}
	var all []v1alpha1.Revision
	for _, revision := range p.history.All() {
		if newer, ok := archived[revision.UID]; ok {
			revision = newer
		}
		all = append(all, *revision)
	}
	p.history = history.Sort(p.pkg, all)
	return nil
}

// digest is that of a revision's content. It is computed once where
// spec.contentDigest is empty, and is empty for content that cannot be read.
func (p *pass) digest(ctx context.Context, revision *v1alpha1.Revision) (string, error) {
	state := p.state.of(revision)
	if state.digest != "" {
		return state.digest, nil
	}
	digest, err := content.DigestOf(ctx, p.Contents, revision)
	if err != nil {
		return "", err
	}
	state.digest = digest
	return digest, nil
}

// digestOf is [pass.digest] for decisions about the history. The cache does not keep the
// content of what is archived: it is read where spec.contentDigest is empty.
func (p *pass) digestOf(ctx context.Context) history.Digest {
	return func(revision *v1alpha1.Revision) string {
		if revision.Spec.ContentDigest != "" {
			return revision.Spec.ContentDigest
		}
		if revision.Status.ArchivedAt != nil {
			whole := &v1alpha1.Revision{}
			if err := p.Live.Get(ctx, client.ObjectKeyFromObject(revision), whole); err != nil {
				return ""
			}
			revision = whole
		}
		digest, _ := p.digest(ctx, revision) // what cannot be read counts as other content
		return digest
	}
}
