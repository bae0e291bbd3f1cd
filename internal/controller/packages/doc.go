// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packages is the loop that rolls out a Package's line of revisions.
//
// One package is one work item: a single pass looks at the package and all its
// active revisions, so two revisions never race. reconcile.go shows the stages of
// a pass from top to bottom: sort the line (internal/history), answer a rollback,
// load (internal/content), roll out (revisions.Engine), derive the statuses
// (internal/status), write them, archive what the target has replaced, and sweep up
// what no active revision contains. The engine writes objects; this package writes Revisions and their statuses; the
// shared loop writes the Package's status.
package packages
