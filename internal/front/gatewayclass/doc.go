// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gatewayclass is the front of GatewayClasses: it runs what makes a class of ours
// work, the Istio CRDs and an istiod that does nothing but Gateway API, in openshift-ingress.
//
// [Setup] is the entry, and front.go puts the front together. Some files meet the cluster:
// observe.go reads what the control plane depends on, istiod.go the one that runs, olm.go what
// an operator before this one has left, and watches.go says what brings the front back.
// labeler.go is a small controller beside it, which labels Gateways. All other files are pure.
//
// All classes share one istiod; [Render] takes all of them and gives at most three
// packages:
//
//   - istio-crds: the CRDs. They are retained, and never of an older version than
//     the one in place.
//   - istiod-openshift-gateway: the control plane, in three phases. The webhooks
//     come last, when istiod is there to answer them.
//   - istiod-openshift-gateway-canary: a second control plane beside the first one, while
//     a class asks for it (canary.go).
//
// The charts are those of the releases in internal/istio. What the front sets in
// them is in values.go; what it takes out of the result, and which phase a kind
// goes to, in controlplane.go.
//
// What else is decided from the facts: who manages the Istio CRDs (ownership.go), what of an
// OLM-based operator has to go first (migration.go), what OpenShift's own configuration asks
// for (platform.go), which images run (images.go), and what the classes say (installed.go,
// crdsready.go), with the reference of it in rows.go.
//
// No probes are rendered: the defaults of the kinds say what is needed (CRD
// Established, Deployment available, autoscaler able to scale, every webhook with
// a CA bundle).
package gatewayclass
