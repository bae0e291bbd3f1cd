// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"fmt"
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
