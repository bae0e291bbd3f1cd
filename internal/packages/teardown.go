// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"

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
// the package. Orphan leaves the objects in place, and releases them as well.
func (p *pass) teardown(ctx context.Context, orphan bool) (loop.Outcome, error) {
	if !controllerutil.ContainsFinalizer(p.pkg, v1alpha1.FinalizerTeardown) {
		return loop.Outcome{Gone: true}, nil
	}
	all, done, outcome, err := p.removeAll(ctx, orphan)
	if !done {
		if p.Meter != nil {
			p.Meter.Hold(p.pkg.Name, telemetry.Held{Pending: len(all.Waiting())})
		}
		return outcome, err
	}
	if err := p.releasePackage(ctx); err != nil {
		return loop.Outcome{Gone: true}, err
	}
	p.record(telemetry.Retained(p.pkg, nil, all.Objects))
	if p.Meter != nil {
		p.Meter.Forget(p.pkg.Name)
	}
	return loop.Outcome{Gone: true}, nil
}

// removeAll deletes the objects of all revisions that are not torn down, or orphans them, and
// takes the finalizers off the revisions. It says what comes next while that is not done.
func (p *pass) removeAll(ctx context.Context, orphan bool) (all revisions.TeardownResult, done bool, next loop.Outcome, err error) {
	all, complete, err := p.removeObjects(ctx, orphan)
	if err != nil || !complete {
		p.state.waits++
		p.pkg.Status = status.ForTeardown(p.pkg, all, err, p.Worker.now())
		return all, false, loop.Outcome{After: waitDelay(p.state.waits)}, err
	}
	for _, revision := range p.history.All() {
		if err := p.releaseRevision(ctx, revision); err != nil {
			next, err = p.failed(err)
			return all, false, next, err
		}
	}
	return all, true, next, nil
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
// it was deleted with kubectl delete --cascade=orphan.
func orphans(pkg *v1alpha1.Package) bool {
	return pkg.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan ||
		controllerutil.ContainsFinalizer(pkg, metav1.FinalizerOrphanDependents)
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
func (p *pass) releasePackage(ctx context.Context) error {
	before := p.pkg.DeepCopy()
	controllerutil.RemoveFinalizer(p.pkg, v1alpha1.FinalizerTeardown)
	err := p.Client.Patch(ctx, p.pkg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking the finalizer off package %s: %w", p.pkg.Name, err)
	}
	p.Watches.Release(string(p.pkg.UID))
	p.states.forget(p.pkg.UID)
	p.did.forgotten = true
	return nil
}
