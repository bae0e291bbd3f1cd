// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kyma is the front of the Istio resources of Kyma: it installs the service mesh that
// the oldest of them describes.
//
// [Setup] is the entry. front.go puts the front together from pure parts, which are in
// internal/render/kyma and internal/status. The other files look: observe.go at what the
// mesh depends on, cluster.go at the cluster that it runs in, leaving.go at what keeps it
// from being taken away. rendering.go keeps what was rendered last, owner.go sets the one owner
// reference that stands in no revision. Workloads are restarted by internal/controller/restarts.
package kyma
