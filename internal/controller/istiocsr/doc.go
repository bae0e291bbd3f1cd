// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package istiocsr is the front of IstioCSRs: it runs one istio-csr agent in the cluster.
//
// [Setup] is the entry. front.go puts the front together from pure parts, which are in
// internal/render/istiocsr and internal/status; observe.go looks at what an agent depends on.
// The CA certificates that agents trust are kept by internal/controller/cacopy, outside of
// revisions.
package istiocsr
