// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content turns rendered phases into what stands in a Revision, and back.
//
// It is pure. A [Packer] splits what is too large into content-addressed
// ObjectSlices, and puts manifests of kind Secret into core Secrets that are named
// in the same way. It computes the digest that equal contents share and different
// contents do not; [Unpack] and [UnpackSecret] read what is stored and prove that it holds
// what its name says. The digest is over the manifests' canonical JSON, so it does
// not depend on where they stand.
package content
