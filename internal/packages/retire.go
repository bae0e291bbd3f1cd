// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// retire archives what the target has replaced, and what was overtaken before it had
// begun; takes away what only archived revisions contained; and prunes history. The
// target's success is on record before the first write for what it has replaced.
func (p *pass) retire(ctx context.Context) error {
	if p.decided.isPaused || !p.isTargetKnown() {
		return nil
	}
	for _, revision := range append(p.history.LeftBehind(p.state.hasPlaced), p.history.Superseded()...) {
		if revision.Spec.LifecycleState == v1alpha1.LifecycleArchived {
			continue
		}
		archived, err := p.setLifecycle(ctx, revision, v1alpha1.LifecycleArchived)
		if err != nil {
			return err
		}
		p.replace(revision, archived)
	}
	p.sort()
	var errs []error
	// While the content of an active revision could not be loaded, anything may be wanted.
	if keep, all := p.wanted(); all {
		for i, revision := range p.history.Archiving {
			written, err := p.takeDown(ctx, revision, keep)
			p.history.Archiving[i] = written
			errs = append(errs, err)
		}
	}
	p.sort()
	errs = append(errs, p.releaseDeleted(ctx))
	return errors.Join(append(errs, p.prune(ctx), p.collect(ctx))...)
}

// replace takes in a new state of an active revision.
func (p *pass) replace(before, after *v1alpha1.Revision) {
	for _, group := range [][]*v1alpha1.Revision{p.history.Waiting, p.history.Serving} {
		if i := slices.Index(group, before); i >= 0 {
			group[i] = after
		}
	}
}

// isTargetKnown says whether the target's content could be loaded, if there is a
// target.
func (p *pass) isTargetKnown() bool {
	return p.history.Target == nil || p.rolled.unloaded[p.history.Target.Spec.Revision] == nil
}

// wanted are the objects of all active revisions, and whether all of these could be loaded.
func (p *pass) wanted() (keep map[revisions.ObjectID]bool, all bool) {
	active := map[int64]bool{}
	all = true
	for _, revision := range p.history.Serving {
		active[revision.Spec.Revision] = true
		all = all && p.rolled.unloaded[revision.Spec.Revision] == nil
	}
	keep = map[revisions.ObjectID]bool{}
	for _, revision := range append([]revisions.Revision{p.rolled.target}, p.rolled.serving...) {
		if revision.Number != p.rolled.target.Number && !active[revision.Number] {
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
func (p *pass) takeDown(ctx context.Context, revision *v1alpha1.Revision, keep map[revisions.ObjectID]bool) (*v1alpha1.Revision, error) {
	if err := p.confirm(ctx, false); err != nil {
		return revision, err
	}
	loaded, err := p.placed(ctx, revision)
	state := p.state.of(revision)
	var result revisions.TeardownResult
	if err == nil {
		result, err = p.rolled.identity.Engine.Teardown(ctx, revisions.Teardown{Owner: ownerOf(p.pkg), Revision: loaded, Keep: keep, Gone: state.gone})
		state.removed(result)
	}
	if p.did.removed == nil {
		p.did.removed = map[types.UID][]revisions.RemovedObject{}
	}
	p.did.removed[revision.UID] = result.Objects
	if err == nil && !result.Complete && state.isArchivedJustNow(p.Now()) {
		return revision, nil // most teardowns are over in a moment, and report their end alone
	}
	written, writeErr := p.writeStatus(ctx, revision, status.ForArchiving(revision, result, err, p.now))
	return written, errors.Join(err, writeErr)
}

// releaseDeleted takes the finalizer off the revisions that a user has deleted and that are
// torn down.
func (p *pass) releaseDeleted(ctx context.Context) error {
	var errs []error
	for _, revision := range p.history.Archived {
		if isDeleted(revision) && isOver(p.pkg, revision) {
			errs = append(errs, p.releaseRevision(ctx, revision))
		}
	}
	return errors.Join(errs...)
}

// prune deletes archived revisions beyond the history limit.
func (p *pass) prune(ctx context.Context) error {
	for _, revision := range p.history.Prune(p.pkg) {
		err := p.deleteRevision(ctx, revision)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("pruning: %w", err)
		}
		if err == nil {
			p.did.pruned = append(p.did.pruned, revision.Spec.Revision)
		}
	}
	return nil
}

// deleteRevision takes the finalizer off a revision and deletes it.
func (p *pass) deleteRevision(ctx context.Context, revision *v1alpha1.Revision) error {
	if err := p.releaseRevision(ctx, revision); err != nil {
		return err
	}
	uid := revision.UID
	if err := p.Client.Delete(ctx, &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}, client.Preconditions{UID: &uid}); err != nil {
		return fmt.Errorf("deleting revision %s: %w", revision.Name, err)
	}
	return nil
}
