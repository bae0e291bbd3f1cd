// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the content of revisions in a cluster: in ObjectSlices, and
// manifests of kind Secret in core Secrets of the manager's namespace.
//
// The order is what makes it safe against crashes. A writer packs content with
// [Contents.Pack], keeps what a revision is going to refer to with [Contents.Keep],
// and creates the revision then. A package's owner reference stands on everything
// that its revisions refer to, so what two packages share goes with the last of
// them. [Contents.Release] takes the reference away when no revision of a package
// needs the thing any more, and deletes it with the last one. What was kept a short
// while ago is never released: its revision may be about to be made.
package store
