// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gatewayclass is the front of GatewayClasses: it reads what the control plane of
// their Gateways depends on, and runs one istiod for all of them.
//
// [Setup] is the entry. front.go puts the front together from pure parts: what is rendered
// is decided in internal/render/gatewayclass, what the classes say in internal/status. The
// other files look: observe.go at the cluster, istiod.go at the control plane that runs,
// olm.go at what an operator before this one has left, and watches.go says what brings the
// front back. labeler.go is a small controller beside it, which labels Gateways.
package gatewayclass
