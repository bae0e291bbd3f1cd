// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the front of Gateways: it makes the DNSRecords of their hostnames, one
// for each hostname of the listeners, pointing at the address of the load balancer, and says
// on the Gateways whether these and their load balancers work. A DNS controller, such as that
// of OpenShift's ingress operator, publishes the records.
//
// [Setup] is the entry. front.go puts the front together, and observe.go looks at the cluster:
// what it finds are [Facts]. The other files are pure. [Decide] gives a package for each
// Gateway, or says why there is none. It knows three outcomes: records are wanted; none are
// wanted, so that those that exist go; or it is not known for now, so that those that exist
// stay as they are. Which of several Services and DNSRecords is meant is decided in choose.go.
// What is written on Gateways is decided in the package ingress below this one.
//
// What may be cached of kinds that users have many objects of is bounded by [Caches] and [Slim].
package gateway
