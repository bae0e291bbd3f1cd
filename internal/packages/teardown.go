// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/telemetry"
	"github.com/strata-run/strata/revisions"
)

// teardown deletes the objects of a package that is being deleted, those of
// the newest revision first and each in reverse phase order, and then takes the finalizer off
// the package. When a definition of Strata goes, or the package's policy says so, the objects
// are left in place instead, without owner reference and label; so are those of a package
// that is not being deleted itself.
func (p *pass) teardown(ctx context.Context, definition string) (v1alpha1.PackageStatus, loop.Outcome, error) {
	deleted := isDeleted(p.pkg)
	if deleted && !controllerutil.ContainsFinalizer(p.pkg, v1alpha1.FinalizerTeardown) {
		return p.pkg.Status, loop.Outcome{Gone: true}, p.releaseRevisions(ctx)
	}
	all, complete, err := p.removeObjects(ctx, definition != "" || p.orphans())
	if deleted && p.Meter != nil {
		p.Meter.Count(p.pkg.Name, telemetry.Objects{Pending: len(all.Waiting())})
	}
	if err != nil || !complete {
		p.state.waits++
		return status.ForTeardown(p.pkg, all, err, p.Worker.now()), loop.Outcome{After: waitDelay(p.state.waits)}, err
	}
	if err := p.releaseRevisions(ctx); err != nil {
		return p.failed(err)
	}
	if !deleted {
		p.Watches.Release(string(p.pkg.UID))
		err := fmt.Errorf("its objects are released, because CustomResourceDefinition %s is being deleted: apply the package again when the definition is back", definition)
		return status.ForError(p.pkg, err, p.Worker.now()), loop.Outcome{}, nil
	}
	return p.pkg.Status, loop.Outcome{Gone: true}, p.releasePackage(ctx, all.Objects)
}

func (p *pass) removeObjects(ctx context.Context, orphan bool) (all revisions.TeardownResult, complete bool, err error) {
	identity, err := p.Identities.For(p.pkg.Spec.ServiceAccount)
	if err != nil {
		return all, false, err
	}
	for _, revision := range p.history.Standing() {
		loaded, err := p.placed(ctx, revision)
		if err != nil {
			return all, false, err
		}
		state := p.state.of(revision)
		result, err := identity.Engine.Teardown(ctx, revisions.Teardown{
			Owner: ownerOf(p.pkg), Revision: loaded, Orphan: orphan, OwnerGoes: !orphan, Gone: state.gone,
		})
		state.removed(result)
		all.Objects = append(all.Objects, result.Objects...)
		if err != nil || !result.Complete {
			return all, false, err
		}
	}
	return all, true, nil
}

// orphans says whether a package's objects are to stay: by its policy, or because
// it was deleted with kubectl delete --cascade=orphan. The garbage collector may have taken its
// own finalizer off again before that deletion is seen. What is left of it then is that
// revisions have lost the owner reference that they got with their finalizer.
func (p *pass) orphans() bool {
	return p.pkg.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
		controllerutil.ContainsFinalizer(p.pkg, metav1.FinalizerOrphanDependents) ||
		slices.ContainsFunc(p.history.All(), func(revision *v1alpha1.Revision) bool {
			return isDeleted(p.pkg) && isOrphaned(revision) && controllerutil.ContainsFinalizer(revision, v1alpha1.FinalizerTeardown)
		})
}

func isOrphaned(revision *v1alpha1.Revision) bool { return metav1.GetControllerOf(revision) == nil }

// releaseRevisions takes the finalizer off the revisions, so that they go with the package, and
// deletes those that the garbage collector has orphaned.
func (p *pass) releaseRevisions(ctx context.Context) error {
	var errs []error
	for _, revision := range p.history.All() {
		if isDeleted(p.pkg) && isOrphaned(revision) {
			errs = append(errs, client.IgnoreNotFound(p.deleteRevision(ctx, revision)))
		} else {
			errs = append(errs, p.releaseRevision(ctx, revision))
		}
	}
	return errors.Join(errs...)
}

// placed is a revision as it may stand on the cluster. Of content that is lost, or
// cannot be used any more, it has the inventory; it is empty when the content could
// never be rolled out.
func (p *pass) placed(ctx context.Context, revision *v1alpha1.Revision) (revisions.Revision, error) {
	loaded, err := p.load(ctx, revision)
	var invalid *content.InvalidError
	var unavailable *content.UnavailableError
	switch {
	case errors.As(err, &invalid), errors.As(err, &unavailable):
		return content.FromInventory(revision), nil
	default:
		return loaded, err
	}
}

// releasePackage takes the finalizer off the package, and forgets it.
func (p *pass) releasePackage(ctx context.Context, removed []revisions.RemovedObject) error {
	before := p.pkg.DeepCopy()
	controllerutil.RemoveFinalizer(p.pkg, v1alpha1.FinalizerTeardown)
	err := p.Client.Patch(ctx, p.pkg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking the finalizer off package %s: %w", p.pkg.Name, err)
	}
	p.Watches.Release(string(p.pkg.UID))
	p.states.forget(p.pkg.UID)
	p.did.forgotten = true
	p.record(telemetry.Retained(p.pkg, nil, removed))
	if p.Meter != nil {
		p.Meter.Forget(p.pkg.Name)
	}
	return nil
}
