// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicemesh renders the service mesh that an Istio resource of the Kyma project describes:
// Istio's CRDs, istiod, the node agent, the gateways, and what belongs to them.
//
// [Oldest] says which resource counts and [Validate] what cannot be used of it. [Merge] lays
// it over the defaults in defaults/, which gives a document in the shape of Istio's
// IstioOperator; it is part of the installation, as a ConfigMap, so that it can be looked at.
// [Render] makes objects of that, with the charts in internal/istio: what a chart takes as
// values it gets as values (components.go), the rest is laid over its objects (patch.go). The
// result are two packages:
//
//   - kyma-istio-crds: the CRDs. They are retained, and never go back.
//   - kyma-istio: everything else, in phases. The gateways stay as they are until istiod
//     works, and Istio's own custom resources come last.
//
// [Gate] is the version gate: a version that may not follow on the one that runs blocks both
// packages back. [SizeOf] and [ProviderOf] say what counts of a cluster's nodes, [Blocking]
// which custom resources of users keep Istio from being taken away.
//
// Everything here is pure. What it depends on is observed by the package above.
package servicemesh
