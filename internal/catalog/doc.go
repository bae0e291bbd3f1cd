// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog reads file-based catalogs: what packages there are, in which channels, and which
// bundle may follow on which.
//
// A catalog is a tree or a stream of JSON and YAML objects, the blobs. A [Source] hands them on one
// by one, with their place: [Folder] those of files, [Stream] those of a body. [Build] writes them to
// a folder with an index of where each package is, and [Open] looks packages up there, so that a
// catalog of any size costs no memory at rest.
//
// An [Origin] is where a catalog comes from: an [Image], a catalogd as [Server], or a folder that is
// [Mounted]. The [Store] asks it for a newer version and keeps the last content that could be read,
// while the origin fails and over restarts. When it asks, how many catalogs at a time, and how
// images are pulled is up to the caller.
//
// What is wrong with a package is a [Problem] of that package and never of the catalog: a fatal one
// makes the package unusable, the others are warnings. What is too much for the limits in read.go is
// an error, or a problem of the one blob that is too large. Names in a catalog are data and never
// become paths. The cases in testdata/conformance show all of it.
package catalog
