// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history decides about a package's revisions: which is rolled
// out, which still serve, which are archived and pruned, and what a rollback or
// a newly rendered content makes of it. It is pure.
//
// reasons.go is the table of the reasons of conditions, which statuses, events, metrics and the
// command line read. A new reason has its meaning in api/v1alpha1/conditions.go, its row here, the
// place in internal/status that sets it, and its event in internal/telemetry when that is a new
// one. Tests fail when a reason has no row, and when other files list the reasons.
package history
