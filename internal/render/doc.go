// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render defines what a front produces: packages with phases, probes and
// an origin.
//
// A front is a folder below this one with a pure Render function from a custom
// resource and facts of the cluster to a list of [Package]. It reads no cluster,
// and the same input gives the same output, byte for byte. The loop in
// internal/front turns the result into Package and Revision objects.
package render
