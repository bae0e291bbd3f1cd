// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content keeps what a revision rolls out: it packs what a front renders, stores it in
// a cluster, and loads it again for the engine.
//
// A front, a chart or a file of manifests becomes a [Package] of phases. A [Packer] turns the
// phases into what stands in a Revision. It splits what is too large into content-addressed
// ObjectSlices, and puts manifests of kind Secret into core Secrets that are named in the same
// way. It computes the digest that equal contents share and different contents do not. The
// digest is over the manifests' canonical JSON, so it does not depend on where they stand.
//
// A [Store] keeps them in a cluster. The order is what makes it safe against crashes. A writer
// packs content with [Store.Pack], keeps what a revision is going to refer to with [Store.Keep],
// and creates the revision then. A package's owner reference stands on everything
// that its revisions refer to, so what two packages share goes with the last of
// them. [Store.Release] takes the reference away when no revision of a package
// needs the thing any more, and deletes it with the last one. What was kept a short
// while ago is never released: its revision may be about to be made.
//
// [LoadRevision] turns a Revision into one of the engine: manifests out of slices, probes out
// of assertions, defaults by kind, and the inventory into records. What is not as it was stored
// is an error that names it.
//
// Only the files of the Store (store.go, keep.go, key.go, release.go) meet the cluster; all
// others are pure.
//
// A new kind of probe touches four files: api/v1alpha1/probe_types.go has its fields and its
// name in the rules, probes.go compiles it, a file of its own in revisions/probes answers, and
// digest.go sets its defaults when it has some. A test in internal/deptest fails when another
// file lists the kinds.
package content
