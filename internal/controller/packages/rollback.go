// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// rollback answers the package's request: it creates the revision, and says
// whether it did, and records the outcome in the package's status, which the loop
// writes.
func (w *Worker) rollback(ctx context.Context, pkg *v1alpha1.Package, line history.Line, known *memory) (made bool, err error) {
	next, outcome := line.Rollback(pkg)
	if next != nil {
		source := &v1alpha1.Revision{}
		key := types.NamespacedName{Name: v1alpha1.RevisionName(pkg.Name, outcome.ToRevision)}
		if err := w.Live.Get(ctx, key, source); err != nil {
			return false, fmt.Errorf("reading revision %d to roll back to: %w", outcome.ToRevision, err)
		}
		// The cache does not keep the content of what is archived.
		next.Spec.Phases, next.Spec.Probes = source.Spec.Phases, source.Spec.Probes
		if err := w.Client.Create(ctx, next); err != nil {
			return false, fmt.Errorf("creating revision %d for a rollback: %w", next.Spec.Revision, err)
		}
	}
	pkg.Status.Rollback = outcome
	pkg.Status.HighestRevision = max(pkg.Status.HighestRevision, outcome.Revision)
	known.held = 0
	return next != nil, nil
}
