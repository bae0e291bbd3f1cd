// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content turns rendered phases into what stands in a Revision, and back.
//
// It is pure. [Pack] splits what is too large into content-addressed
// ObjectSlices and computes the digest that tells equal content from different
// content; [Unpack] reads a slice and proves that it holds what its name says.
// The digest is over the manifests' canonical JSON, so it does not depend on
// where they stand.
package content
