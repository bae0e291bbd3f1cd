// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"

	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/status"
)

// Removal names a CustomResourceDefinition of Strata that is being deleted or is gone,
// as the API server has it now; it is empty while all of them stand.
type Removal func(ctx context.Context) (string, error)

// definitionRemoved says which definition is going, when a package or one of its revisions is being
// deleted: with its definition every resource is deleted, and no user has asked for the
// objects to go. It costs no request otherwise. What cannot be found out is an error, so
// that nothing is torn down on a guess.
func (p *pass) definitionRemoved(ctx context.Context) (string, error) {
	deleted := isDeleted(p.pkg)
	for _, revision := range p.history.Standing() {
		deleted = deleted || isDeleted(revision)
	}
	if !deleted || p.Removal == nil {
		return "", nil
	}
	going, err := p.Removal(ctx)
	if err != nil {
		return "", fmt.Errorf("finding out whether Strata is being removed: %w", err)
	}
	return going, nil
}

// release leaves every object in place without owner reference and label, and takes the
// finalizers off the revisions, and off the package if it is being deleted.
func (p *pass) release(ctx context.Context, definition string) (loop.Outcome, error) {
	if isDeleted(p.pkg) {
		return p.teardown(ctx, true)
	}
	if _, done, outcome, err := p.removeAll(ctx, true); !done {
		return outcome, err
	}
	p.Watches.Release(string(p.pkg.UID))
	p.pkg.Status = status.ForError(p.pkg, fmt.Errorf("its objects are released, because CustomResourceDefinition %s is being deleted: apply the package again when the definition is back", definition), p.Worker.now())
	return loop.Outcome{}, nil
}
