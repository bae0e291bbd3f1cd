// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// Package is where one of a front's packages stands.
type Package struct {
	// Name is the package's.
	Name string
	// Version is what the front has rendered.
	Version string
	// Package and Target are as they are on the cluster, nil when there is none.
	Package *v1alpha1.Package
	Target  *v1alpha1.Revision
	// Need says what becomes of the rendered content.
	Need history.Need
	// Waiting is the package that has to be rolled out first, empty when none has.
	Waiting string
	// Blocked is why the package gets no new content for now, empty when nothing keeps it
	// back.
	Blocked string
}
