// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package istiocsr is the front of IstioCSRs: it runs one istio-csr agent in the cluster.
//
// [Setup] is the entry, and front.go puts the front together. observe.go looks at what an agent
// depends on, with apiports.go, found.go, handover.go, holder.go, leftovers.go, neighbours.go,
// references.go, roles.go and signing.go for single questions. All other files are pure.
//
// [Running] says which of several IstioCSRs the agent runs for. [Render] gives the
// package of that one, in three phases: who the agent is and what it may reach, the
// certificate of istiod, and the agent. The next phase waits until the certificate is
// issued, or the pods could not start. No probes are rendered: the defaults of the
// kinds say what is needed.
//
// [Check] finds what stands in the way: a spec that the API server lets through and
// that cannot work (spec.go, pods.go), or that another definition of the kind has let
// through (stored.go), and what the cluster lacks (facts.go). Render
// blocks the package where a rollout would do harm or be in vain. [SetStatus] says on the
// IstioCSR how it stands, with the reference of it in rows.go.
//
// The CA certificates are not rendered: they change by themselves, and the agent reads
// them again without a restart. The Deployment only names the ConfigMap,
// [CAConfigMap], that the package cabundle below this one keeps for it. What belongs in it is
// decided by the package trust.
//
// Names, labels, arguments and mounts are those of the cert-manager operator, so that
// what it has installed is taken over without a restart of the pods. A Deployment that a
// Helm chart has made says the same in other words: takeover.go compares by meaning, and
// existing.go renders what was found, for as long as it means what is asked for.
package istiocsr
