// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history decides about a package's revisions: which is rolled
// out, which still serve, which are archived and pruned, and what a rollback or
// a newly rendered content makes of it. It is pure.
package history
