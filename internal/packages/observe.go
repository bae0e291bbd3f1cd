// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

// indexPackage is the cache index of Revisions by their package.
const indexPackage = "spec.package"

// observe reads the package's revisions, as the cache has them or newer, and claims those
// that are not the package's yet. They are shared with the cache and must not be changed.
func (p *pass) observe(ctx context.Context) error {
	if err := decoding.Problem(p.pkg); err != nil {
		return reconcile.TerminalError(err)
	}
	list := &v1alpha1.RevisionList{}
	if err := p.Client.List(ctx, list, client.MatchingFields{indexPackage: p.pkg.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the revisions of %s: %w", p.pkg.Name, err)
	}
	all := make([]v1alpha1.Revision, 0, len(list.Items))
	for i := range list.Items {
		if err := decoding.Problem(&list.Items[i]); err != nil {
			return reconcile.TerminalError(fmt.Errorf("reading Revision %s: %w", list.Items[i].Name, err))
		}
		newest := p.own.Newest(&list.Items[i])
		if isOfEarlier(p.pkg, newest) && !isDeleted(newest) {
			continue // the garbage collector takes it away
		}
		revision, err := p.claim(ctx, p.pkg, newest)
		if err != nil {
			return err
		}
		if revision != nil {
			all = append(all, *revision)
		}
	}
	p.state.keepOnly(all)
	p.history = history.Sort(p.pkg, all)
	p.observed = p.history.All()
	return p.followContent(ctx, all)
}

// Orphaned writes into the revisions of a package that does not exist that it is
// missing. Those that a package controlled are deleted with it.
func (w *Worker) Orphaned(ctx context.Context, name string) error {
	w.releaseFormer(name, "")
	list := &v1alpha1.RevisionList{}
	if err := w.Client.List(ctx, list, client.MatchingFields{indexPackage: name}); err != nil {
		return fmt.Errorf("listing the revisions of %s: %w", name, err)
	}
	var errs []error
	for i := range list.Items {
		before := &list.Items[i]
		if isDeleted(before) {
			errs = append(errs, w.releaseRevision(ctx, before))
			continue
		}
		if len(before.OwnerReferences) > 0 {
			continue
		}
		after := before.DeepCopy()
		after.Status = status.ForOrphan(before, w.now())
		_, err := loop.PatchStatus(ctx, w.Client, before, after)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// releaseFormer releases what is kept for packages of a name that went without a teardown,
// as their finalizer was taken off by hand.
func (w *Worker) releaseFormer(name string, but types.UID) {
	for _, uid := range w.states.forgetNamed(name, but) {
		w.Watches.Release(string(uid))
	}
}

// claim puts the package's owner reference, label and finalizer on a revision that
// a user has made by hand, so that it is deleted with the package. A package that is being
// deleted claims none. It returns the revision as it is then, nil when it is being deleted.
func (w *Worker) claim(ctx context.Context, pkg *v1alpha1.Package, revision *v1alpha1.Revision) (*v1alpha1.Revision, error) {
	isOurs := metav1.IsControlledBy(revision, pkg)
	switch {
	case isDeleted(revision) && (!isOurs || isOver(pkg, revision)):
		return nil, w.releaseRevision(ctx, revision)
	case isDeleted(pkg), isOurs && (isOver(pkg, revision) || isDeleted(revision) || controllerutil.ContainsFinalizer(revision, v1alpha1.FinalizerTeardown)):
		return revision, nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	claimed := before.DeepCopy()
	if err := controllerutil.SetControllerReference(pkg, claimed, w.Client.Scheme(), controllerutil.WithBlockOwnerDeletion(false)); err != nil {
		return nil, fmt.Errorf("claiming revision %s: %w", revision.Name, err)
	}
	if claimed.Labels == nil {
		claimed.Labels = map[string]string{}
	}
	claimed.Labels[v1alpha1.LabelPackage] = pkg.Name
	controllerutil.AddFinalizer(claimed, v1alpha1.FinalizerTeardown)
	if err := w.Client.Patch(ctx, claimed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("claiming revision %s: %w", revision.Name, err)
	}
	return w.wrote(revision, claimed), nil
}

// isOver says that a revision is torn down, and that its number is not given again
// when it is gone.
func isOver(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	return revision.Spec.LifecycleState == v1alpha1.LifecycleArchived && revision.Status.ArchivedAt != nil && history.IsOnRecord(pkg, revision)
}

// isOfEarlier says whether a revision belongs to a package of the same name that is gone.
// It says nothing about what this one wants.
func isOfEarlier(pkg *v1alpha1.Package, revision metav1.Object) bool {
	controller := metav1.GetControllerOf(revision)
	return controller != nil && controller.Kind == "Package" && controller.Name == pkg.Name && controller.UID != pkg.UID
}

func isDeleted(object client.Object) bool { return !object.GetDeletionTimestamp().IsZero() }

// ensureFinalizer puts the finalizer on a package that has none, such as one that a
// user has made by hand, and says whether it had to.
func (p *pass) ensureFinalizer(ctx context.Context) (added bool, err error) {
	pkg := p.pkg
	if controllerutil.ContainsFinalizer(pkg, v1alpha1.FinalizerTeardown) {
		return false, nil
	}
	before := pkg.DeepCopy()
	controllerutil.AddFinalizer(pkg, v1alpha1.FinalizerTeardown)
	if err := p.Client.Patch(ctx, pkg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("adding the finalizer to package %s: %w", pkg.Name, err)
	}
	return true, nil
}

// wrote keeps what a write has returned, with the content that the cache has.
func (w *Worker) wrote(revision, answer *v1alpha1.Revision) *v1alpha1.Revision {
	written := &v1alpha1.Revision{ObjectMeta: answer.ObjectMeta, Spec: revision.Spec, Status: answer.Status}
	written.Spec.LifecycleState = answer.Spec.LifecycleState
	w.own.Wrote(written)
	return written
}

// releaseRevision takes the finalizer off a revision, if it is there. One that was deleted is
// gone then.
func (w *Worker) releaseRevision(ctx context.Context, revision *v1alpha1.Revision) error {
	if !controllerutil.ContainsFinalizer(revision, v1alpha1.FinalizerTeardown) {
		return nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	after := before.DeepCopy()
	controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerTeardown)
	err := w.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("taking the finalizer off revision %s: %w", revision.Name, err)
	case err == nil && !isDeleted(revision):
		w.wrote(revision, after)
	}
	return nil
}
