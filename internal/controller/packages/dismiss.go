// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// dismiss archives the revisions that a user has deleted, so that their own objects
// are torn down before they are gone.
func (w *Worker) dismiss(ctx context.Context, pkg *v1alpha1.Package, line history.History, known *memory) (history.History, error) {
	dismissed := line.DeleteRequested()
	if len(dismissed) == 0 {
		return line, nil
	}
	archived := map[*v1alpha1.Revision]*v1alpha1.Revision{}
	for _, revision := range dismissed {
		var err error
		if archived[revision], err = w.archive(ctx, revision, known); err != nil {
			return line, err
		}
	}
	var all []v1alpha1.Revision
	for _, revision := range line.All() {
		if newer, ok := archived[revision]; ok {
			revision = newer
		}
		all = append(all, *revision)
	}
	return history.Sort(pkg, all), nil
}

// letGoOfDismissed takes the finalizer off those that are torn down.
func (w *Worker) letGoOfDismissed(ctx context.Context, p *pass, known *memory) error {
	var errs []error
	for _, revision := range p.line.Archived {
		if isLeaving(revision) && isOver(p.pkg, revision) {
			errs = append(errs, w.letRevisionGo(ctx, revision, known))
		}
	}
	return errors.Join(errs...)
}

// overtaken are the objects that revisions newer than the target have put in place
// and that are being torn down. What older ones have on record of them is out of
// date: our own entry of managed fields looks the same with another value.
func (p *pass) overtaken(known *memory) map[revisions.ObjectID]bool {
	objects := map[revisions.ObjectID]bool{}
	for _, revision := range p.line.Archiving {
		if revision.Spec.Revision < p.line.Target.Spec.Revision {
			continue
		}
		for id := range known.recordsOf(revision) {
			objects[id] = true
		}
	}
	return objects
}

// isOver says that a revision is torn down, and that its number is not given again
// when it is gone.
func isOver(pkg *v1alpha1.Package, revision *v1alpha1.Revision) bool {
	return revision.Spec.LifecycleState == v1alpha1.LifecycleArchived && revision.Status.ArchivedAt != nil && history.IsOnRecord(pkg, revision)
}

// letRevisionGo takes the finalizer off a revision, if it is there. Without a memory
// nothing is remembered of it.
func (w *Worker) letRevisionGo(ctx context.Context, revision *v1alpha1.Revision, known *memory) error {
	if !controllerutil.ContainsFinalizer(revision, v1alpha1.FinalizerTeardown) {
		return nil
	}
	before := &v1alpha1.Revision{ObjectMeta: revision.ObjectMeta}
	after := before.DeepCopy()
	controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerTeardown)
	err := w.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of revision %s: %w", revision.Name, err)
	}
	if err == nil && known != nil {
		known.remember(revision, after)
	}
	return nil
}
