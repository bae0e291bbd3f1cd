// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// retire archives what the target has replaced, and what was overtaken before it had
// begun; takes away what only archived revisions contained; and prunes history. The
// target's success is on record before the first write for what it has replaced.
func (w *Worker) retire(ctx context.Context, p *pass, known *memory) error {
	if p.isPaused || !p.isTargetKnown() {
		return nil
	}
	for _, revision := range append(p.line.LeftBehind(known.hasPlaced), p.line.Superseded()...) {
		if revision.Spec.LifecycleState == v1alpha1.LifecycleArchived {
			continue
		}
		archived, err := w.archive(ctx, revision, known)
		if err != nil {
			return err
		}
		p.replace(revision, archived)
	}
	p.sort()
	var errs []error
	// While the content of an active revision is not known, anything may be wanted.
	if keep, all := p.wanted(); all {
		for i, revision := range p.line.Archiving {
			written, err := w.takeDown(ctx, p, revision, keep, known)
			p.line.Archiving[i] = written
			errs = append(errs, err)
		}
	}
	p.sort()
	errs = append(errs, w.letGoOfDismissed(ctx, p, known))
	return errors.Join(append(errs, w.prune(ctx, p, known), w.collect(ctx, p.pkg, known))...)
}

// hasPlaced says whether a revision has put an object in place.
func (m *memory) hasPlaced(revision *v1alpha1.Revision) bool {
	return len(revision.Status.Inventory) > 0 || len(m.records[revision.UID]) > 0
}

// replace takes in a new state of an active revision.
func (p *pass) replace(before, after *v1alpha1.Revision) {
	for _, group := range [][]*v1alpha1.Revision{p.line.Waiting, p.line.Serving} {
		if i := slices.Index(group, before); i >= 0 {
			group[i] = after
		}
	}
}

// isTargetKnown says whether the target's content could be loaded, if there is a
// target.
func (p *pass) isTargetKnown() bool {
	return p.line.Target == nil || p.unloaded[p.line.Target.Spec.Revision] == nil
}

// archive sets the final lifecycle state.
func (w *Worker) archive(ctx context.Context, revision *v1alpha1.Revision, known *memory) (*v1alpha1.Revision, error) {
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	before.Spec.LifecycleState = revision.Spec.LifecycleState
	after := before.DeepCopy()
	after.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := w.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("archiving revision %d: %w", revision.Spec.Revision, err)
	}
	return known.remember(revision, after), nil
}

// wanted are the objects of all active revisions, and whether these are all known.
func (p *pass) wanted() (keep map[revisions.ObjectID]bool, all bool) {
	active := map[int64]bool{}
	all = true
	for _, revision := range p.line.Serving {
		active[revision.Spec.Revision] = true
		all = all && p.unloaded[revision.Spec.Revision] == nil
	}
	keep = map[revisions.ObjectID]bool{}
	for _, revision := range append([]revisions.Revision{p.target}, p.serving...) {
		if revision.Number != p.target.Number && !active[revision.Number] {
			continue
		}
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				keep[revisions.IDOf(object.Manifest)] = true
			}
		}
	}
	return keep, all
}

// takeDown deletes what only an archived revision contained.
func (w *Worker) takeDown(ctx context.Context, p *pass, revision *v1alpha1.Revision, keep map[revisions.ObjectID]bool, known *memory) (*v1alpha1.Revision, error) {
	if err := w.confirm(ctx, p, known, false); err != nil {
		return revision, err
	}
	loaded, err := w.placed(ctx, revision, known)
	var result revisions.TeardownResult
	if err == nil {
		result, err = p.identity.Engine.Teardown(ctx, revisions.Teardown{Owner: ownerOf(p.pkg), Revision: loaded, Keep: keep, Gone: known.gone[revision.UID]})
		known.remove(revision.UID, result)
	}
	p.did.removed[revision.UID] = result.Objects
	if err == nil && !result.Complete && known.hasJustBegunToLeave(revision, w.Now()) {
		return revision, nil // most teardowns are over in a moment, and report their end alone
	}
	written, writeErr := w.writeStatus(ctx, revision, status.ForArchiving(revision, result, err, p.now), known)
	return written, errors.Join(err, writeErr)
}

// prune deletes archived revisions beyond the history limit.
func (w *Worker) prune(ctx context.Context, p *pass, known *memory) error {
	for _, revision := range p.line.Prune(p.pkg) {
		if err := w.letRevisionGo(ctx, revision, known); err != nil {
			return err
		}
		uid := revision.UID
		err := w.Client.Delete(ctx, &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}, client.Preconditions{UID: &uid})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("pruning revision %d: %w", revision.Spec.Revision, err)
		}
		if err == nil {
			p.did.pruned = append(p.did.pruned, revision.Spec.Revision)
		}
	}
	return nil
}
