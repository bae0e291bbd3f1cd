// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog reads file-based catalogs: what packages there are, in which channels, and which
// bundle may follow on which.
//
// A catalog is a tree or a stream of JSON and YAML objects, the blobs. [ReadFolder] and [ReadStream]
// hand them on one by one, with their place. [Build] writes them to a folder with an index of where
// each package begins, and [Open] looks packages up there, so that a catalog of any size costs no
// memory at rest. What is wrong with a package is a [Problem] of that package and never of the
// catalog: a fatal one makes the package unusable, the others are warnings.
package catalog
