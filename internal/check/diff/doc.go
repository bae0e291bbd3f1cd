// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff compares manifests, and the contents of two revisions. It is pure.
//
// [Values] compares two values field by field: entries of lists are matched by what
// tells them apart (name, port, key), so that an entry that is put in front changes
// one entry and not all. [Contents] compares two lists of objects: it pairs those of
// the same identity, and then those that were renamed. [Unified] is the same as lines
// of YAML.
//
// Values of Secrets never stand in what it returns, unless asked for: they are
// replaced before anything is compared, so that a change of one still shows as one.
package diff
