// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deptest holds the structure of this repository to its description.
//
// ARCHITECTURE.md holds a table of which package may import which of ours.
// [ReadTable] reads it, [ReadTree] reads the packages as they are, and the
// functions in rules.go compare the two: imports, names, package comments,
// libraries of others, who calls a client's writing methods, vague words in texts,
// the length of tests, and where they sleep. [Picture] draws the packages of the table and their
// imports. The test of this package runs the rules on the repository; every problem names the
// file and what to do.
//
// The sources are parsed, not compiled, so a rule is also checked for other
// platforms, and while a package does not build.
package deptest
