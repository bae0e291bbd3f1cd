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
	// Held is why the package gets no new content for now, empty when nothing keeps it
	// back.
	Held string
}

// Row is a line of the reference of what a front says on its resources.
type Row struct {
	// Condition is its type, Status what it is, and Reason why.
	Condition, Status, Reason string
	// When says in which situation, for people who know the front and not its code.
	When string
	// Message is an example, or the beginning of one.
	Message string
	// Remedy says what to do, empty when there is nothing to be done.
	Remedy string
}
