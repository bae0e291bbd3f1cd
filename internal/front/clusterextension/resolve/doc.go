// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve decides which bundle of its package a ClusterExtension installs. It is pure.
//
// [Resolve] takes what the extension asks for, what is installed, and what the catalogs have, and
// gives an [Answer]: the bundle, or what keeps it from being found, and of every other bundle the
// [Rule] that left it out. The order of what it is given does not matter. A package is read once with
// [NewPackage], and any number of extensions resolve against it.
//
// The steps, each a file: the catalogs in scope (scope.go); the bundles that the channels name
// (channels.go), that are in the range of versions (versions.go), and that may follow on what is
// installed (edges.go); the best of each catalog, and of all (choose.go); what forbids to install that
// one (dependencies.go). Nothing else is tried when it is forbidden: a second choice that no message
// mentions would be worse. [Deprecations] says what of an extension is deprecated, [Choice.Pinned] which
// digest its image has, and messages.go why nothing was found, and the remedy.
//
// testdata has a case for each rule as a text file; its README says how to add one.
package resolve
