// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the front of Gateways: it makes the DNSRecords of their hostnames, and
// tells them whether these and their load balancers work.
//
// [Setup] is the entry. front.go puts the front together from pure parts, which are in
// internal/render/gateway and internal/status/ingress; observe.go looks at the cluster. What
// may be cached of kinds that users have many objects of is bounded by [Caches] and [Slim].
package gateway
