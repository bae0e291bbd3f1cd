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

// line sorts the package's revisions, as the cache has them or newer. They are
// shared with the cache and must not be changed.
func (w *Worker) line(ctx context.Context, pkg *v1alpha1.Package, known *memory) (history.History, error) {
	list := &v1alpha1.RevisionList{}
	if err := w.Client.List(ctx, list, client.MatchingFields{indexPackage: pkg.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return history.History{}, fmt.Errorf("listing the revisions of %s: %w", pkg.Name, err)
	}
	all := make([]v1alpha1.Revision, 0, len(list.Items))
	for i := range list.Items {
		if err := decoding.Problem(&list.Items[i]); err != nil {
			return history.History{}, reconcile.TerminalError(fmt.Errorf("reading Revision %s: %w", list.Items[i].Name, err))
		}
		newest := known.own.Newest(&list.Items[i])
		if isOfEarlier(pkg, newest) && !isLeaving(newest) {
			continue // the garbage collector takes it away
		}
		revision, err := w.claim(ctx, pkg, newest, known)
		if err != nil {
			return history.History{}, err
		}
		if revision != nil {
			all = append(all, *revision)
		}
	}
	known.forgetOthers(all)
	if err := w.followContent(ctx, pkg, all, known); err != nil {
		return history.History{}, err
	}
	return history.Sort(pkg, all), nil
}

// Strays writes into the revisions of a package that does not exist that it is
// missing. Those that a package controlled are deleted with it.
func (w *Worker) Strays(ctx context.Context, name string) error {
	w.releaseFormer(name, "")
	w.memory.await(name, false)
	list := &v1alpha1.RevisionList{}
	if err := w.Client.List(ctx, list, client.MatchingFields{indexPackage: name}); err != nil {
		return fmt.Errorf("listing the revisions of %s: %w", name, err)
	}
	var errs []error
	for i := range list.Items {
		before := &list.Items[i]
		if isLeaving(before) {
			errs = append(errs, w.letRevisionGo(ctx, before, nil))
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
	for _, uid := range w.memory.forgetNamed(name, but) {
		w.Watches.Release(string(uid))
	}
}

// claim puts the package's owner reference, label and finalizer on a revision that
// a user has made by hand, so that it is deleted with the package. It returns the
// revision as it is then, nil when it is being deleted.
func (w *Worker) claim(ctx context.Context, pkg *v1alpha1.Package, revision *v1alpha1.Revision, known *memory) (*v1alpha1.Revision, error) {
	isOurs := metav1.IsControlledBy(revision, pkg)
	switch {
	case isLeaving(revision) && (!isOurs || isOver(pkg, revision)):
		return nil, w.letRevisionGo(ctx, revision, known)
	case isOurs && (isOver(pkg, revision) || isLeaving(pkg) || isLeaving(revision) || controllerutil.ContainsFinalizer(revision, v1alpha1.FinalizerTeardown)):
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
	return known.remember(revision, claimed), nil
}

// isOfEarlier says whether a revision belongs to a package of the same name that is gone.
// It says nothing about what this one wants.
func isOfEarlier(pkg *v1alpha1.Package, revision metav1.Object) bool {
	controller := metav1.GetControllerOf(revision)
	return controller != nil && controller.Kind == "Package" && controller.Name == pkg.Name && controller.UID != pkg.UID
}

func isLeaving(object client.Object) bool { return !object.GetDeletionTimestamp().IsZero() }

// ensureFinalizer puts the finalizer on a package that has none, such as one that a
// user has made by hand, and says whether it had to.
func (w *Worker) ensureFinalizer(ctx context.Context, pkg *v1alpha1.Package) (added bool, err error) {
	if controllerutil.ContainsFinalizer(pkg, v1alpha1.FinalizerTeardown) {
		return false, nil
	}
	before := pkg.DeepCopy()
	controllerutil.AddFinalizer(pkg, v1alpha1.FinalizerTeardown)
	if err := w.Client.Patch(ctx, pkg, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("adding the finalizer to package %s: %w", pkg.Name, err)
	}
	return true, nil
}
