// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress says whether what brings traffic into a cluster works: the load
// balancer of a Service, and the DNS record of a hostname.
//
// [LoadBalancer] and [DNS] judge one of them each. They know no custom resource: a
// [Verdict] becomes a condition of whatever shows it, such as a Gateway, one of its
// listeners, or an IngressController. [Gateway] puts them on a Gateway, next to the
// conditions of other controllers.
//
// The kinds of OpenShift are read from unstructured objects (read.go), as nothing of
// them but a few fields is needed. Everything here is pure.
package ingress
