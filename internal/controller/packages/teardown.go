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
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// teardown takes away the objects of a package that is being deleted, those of
// the newest revision first and each in reverse phase order, and then lets the
// package go. Orphan leaves the objects in place, and lets them go as well.
func (w *Worker) teardown(ctx context.Context, pkg *v1alpha1.Package, line history.History, orphan bool, known *memory) (loop.Outcome, error) {
	if !controllerutil.ContainsFinalizer(pkg, v1alpha1.FinalizerTeardown) {
		return loop.Outcome{Gone: true}, nil
	}
	all, complete, err := w.removeAll(ctx, pkg, line, orphan, known)
	if err != nil || !complete {
		known.held++
		pkg.Status = status.ForTeardown(pkg, all, err, w.now())
		status.MarkStuck(pkg, w.now())
		w.leaving(pkg, all)
		return loop.Outcome{After: heldDelay(known.held)}, err
	}
	for _, revision := range line.All() {
		if err := w.letRevisionGo(ctx, revision, known); err != nil {
			return w.failed(pkg, err)
		}
	}
	if err := w.letGo(ctx, pkg); err != nil {
		return loop.Outcome{Gone: true}, err
	}
	w.left(pkg, all)
	return loop.Outcome{Gone: true}, nil
}

// removeAll deletes the objects of all revisions that are not torn down, or orphans them, and
// says whether none is left to wait for.
func (w *Worker) removeAll(ctx context.Context, pkg *v1alpha1.Package, line history.History, orphan bool, known *memory) (all revisions.TeardownResult, complete bool, err error) {
	identity, err := w.Identities.For(pkg.Spec.ServiceAccount)
	if err != nil {
		return all, false, err
	}
	for _, revision := range line.Standing() {
		loaded, err := w.placed(ctx, revision, known)
		if err != nil {
			return all, false, err
		}
		result, err := identity.Engine.Teardown(ctx, revisions.Teardown{
			Owner: ownerOf(pkg), Revision: loaded, Orphan: orphan, OwnerGoes: !orphan, Gone: known.gone[revision.UID],
		})
		known.remove(revision.UID, result)
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
func (w *Worker) placed(ctx context.Context, revision *v1alpha1.Revision, known *memory) (revisions.Revision, error) {
	loaded, err := w.load(ctx, revision, known)
	var invalid *content.InvalidError
	var unavailable *content.UnavailableError
	switch {
	case errors.As(err, &invalid), errors.As(err, &unavailable):
		return content.FromInventory(revision), nil
	default:
		return loaded, err
	}
}

// letGo takes the finalizer away and forgets the package.
func (w *Worker) letGo(ctx context.Context, pkg *v1alpha1.Package) error {
	before := pkg.DeepCopy()
	controllerutil.RemoveFinalizer(pkg, v1alpha1.FinalizerTeardown)
	err := w.Client.Patch(ctx, pkg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking the finalizer off package %s: %w", pkg.Name, err)
	}
	w.Watches.Release(string(pkg.UID))
	w.memory.forget(pkg.UID)
	return nil
}
