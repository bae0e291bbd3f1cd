// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load turns a Revision of the API into one of the engine: manifests out
// of slices, probes out of assertions, defaults by kind, and the inventory into
// records. What is not as it was stored is an error that names it.
//
// A new kind of probe touches four files: api/v1alpha1/probe_types.go has its fields and its
// name in the rules, probes.go compiles it, a file of its own in revisions/probes answers, and
// internal/content/digest.go sets its defaults when it has some. A test in internal/deptest
// fails when another file lists the kinds.
package load
