// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

// Removal names a CustomResourceDefinition of Strata that is being deleted or is gone,
// as the API server has it now; it is empty while all of them stand.
type Removal func(ctx context.Context) (string, error)

// removal says which definition is going, when a package or one of its revisions is being
// deleted: with its definition every resource is deleted, and no user has asked for the
// objects to go. It costs no request otherwise. What cannot be found out is an error, so
// that nothing is torn down on a guess.
func (w *Worker) removal(ctx context.Context, pkg *v1alpha1.Package, line history.History) (string, error) {
	deleted := isLeaving(pkg)
	for _, revision := range line.Standing() {
		deleted = deleted || isLeaving(revision)
	}
	if !deleted || w.Removal == nil {
		return "", nil
	}
	going, err := w.Removal(ctx)
	if err != nil {
		return "", fmt.Errorf("finding out whether Strata is being removed: %w", err)
	}
	return going, nil
}

// release leaves every object in place without owner reference and label, and lets the
// revisions go, and the package if it is being deleted.
func (w *Worker) release(ctx context.Context, pkg *v1alpha1.Package, line history.History, going string, known *memory) (loop.Outcome, error) {
	if isLeaving(pkg) {
		return w.teardown(ctx, pkg, line, true, known)
	}
	all, complete, err := w.removeAll(ctx, pkg, line, true, known)
	if err != nil || !complete {
		known.held++
		pkg.Status = status.ForTeardown(pkg, all, err, w.now())
		return loop.Outcome{After: heldDelay(known.held)}, err
	}
	for _, revision := range line.All() {
		if err := w.letRevisionGo(ctx, revision, known); err != nil {
			return w.failed(pkg, err)
		}
	}
	w.Watches.Release(string(pkg.UID))
	pkg.Status = status.ForError(pkg, fmt.Errorf("its objects are released, because CustomResourceDefinition %s is being deleted: apply the package again when the definition is back", going), w.now())
	return loop.Outcome{}, nil
}
