// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gatewayclass renders what makes a GatewayClass of ours work: the Istio
// CRDs, and an istiod that does nothing but Gateway API, in openshift-ingress.
//
// All classes share one istiod; [Render] takes all of them and gives at most two
// packages:
//
//   - istio-crds: the CRDs. They are retained, and never of an older version than
//     the one in place.
//   - istiod-openshift-gateway: the control plane, in three phases. The webhooks
//     come last, when istiod is there to answer them.
//
// The charts are those of the releases in internal/istio. What the front sets in
// them is in values.go; what it takes out of the result, and which phase a kind
// goes to, in controlplane.go.
//
// No probes are rendered: the defaults of the kinds say what is needed (CRD
// Established, Deployment available, autoscaler able to scale, every webhook with
// a CA bundle).
package gatewayclass
