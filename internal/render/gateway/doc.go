// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway renders the DNSRecords of a Gateway: one for each hostname of its
// listeners, pointing at the address of its load balancer. A DNS controller, such as
// that of OpenShift's ingress operator, publishes them.
//
// [Decide] gives a package for each Gateway, or says why there is none. It knows three
// outcomes: records are wanted; none are wanted, so that those that exist go; or it is
// not known for now, so that those that exist stay as they are.
//
// What the package is made from are [Facts] of the cluster. Which of several Services
// and DNSRecords is meant is decided in choose.go.
package gateway
