// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds what is wrong with manifests before there is a revision of them.
//
// [Check] takes objects with the places where they stand and gives findings, sorted.
// Each has a code that never changes its meaning ([Rules] lists them), a severity, what
// is wrong and what to do. What takes a cluster is handed in: which kinds it serves, and
// the revision that the content is to replace, which the controller's own preflight
// then compares it with.
package lint
