// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load turns a Revision of the API into one of the engine: manifests out
// of slices, probes out of assertions, defaults by kind, and the inventory into
// records. What is not as it was stored is an error that names it.
package load
