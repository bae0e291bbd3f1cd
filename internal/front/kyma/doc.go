// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kyma is the front of the Istio resources of Kyma: it installs the service mesh that
// the oldest of them describes.
//
// [Setup] is the entry. front.go puts the front together. Some files look: observe.go at what the
// mesh depends on, cluster.go at the cluster that it runs in, uninstall.go at what keeps it
// from being taken away. rendering.go keeps what was rendered last, owner.go sets the one owner
// reference that stands in no revision. status.go decides what the resource says, with the
// reference of it in rows.go, and events.go what of that is an event.
//
// Three packages below belong to it: servicemesh renders the mesh, crwatch knows the custom
// resources that keep it from being taken away, and the controller in restarts replaces outdated
// proxies.
package kyma
