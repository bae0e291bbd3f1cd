// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restarts sees to it that no workload runs with an outdated proxy. What that means, and
// which workload is next, is decided by pure functions. controller.go, mesh.go, survey.go,
// workload.go and the like read pods and workloads, and write to workloads.
//
// # What decides
//
// Pods keep the proxy, and much of its configuration, that they got when they were made.
// When the mesh changes, they are outdated until something replaces them:
//
//	pods ─► [Causes] ─► owner workloads ([Resolve], [Plan]) ─► [Board] ─► next restarts
//	            ▲                                                ▲
//	  [Target], [Ledger]                                   [Decide] on one workload
//
// A cause is found by a predicate, one for each thing that a pod can be outdated in, see
// [Predicates]. What a pod shows, such as its proxy's image, is compared with the [Target];
// what it does not show is compared by time: the [Ledger] keeps since when a setting of the
// mesh is what it is, and a pod that is older runs without it. [Departures] keeps since when
// namespaces are known to have left, and [Arrivals] since when they have joined. When the mesh
// itself is gone, [GoneCauses] finds what it has left behind.
//
// A restart is recorded on the workload with the causes that it was for ([Record]). The same
// cause, which is the same thing since the same time, never restarts a workload again: if its
// pods are still outdated then, restarting does not help, and a person has to look.
//
// The [Board] holds all that there is to do. It lets no more than a number of workloads roll
// out at a time, starts none outside of the [Window], and none at all while one that was
// restarted does not come up. A process that begins finds these by their records: the pod
// template is the one that was restarted, and has not served yet ([Live.Unfinished]).
//
// # What acts
//
// It is a controller of its own, keyed by workload, so that no rollout of a user's workload
// ever holds up the mesh, nor the other way round:
//
//	Istio resource, Package ─► look: has the mesh changed? ─► survey of all pods ─► board
//	                                                                                  │
//	                                 status, events, metrics ◄─ workload, one by one ◄┘
//
// The empty key stands for a look. It costs no request while nothing has changed. A survey
// asks for all running pods, page by page, and keeps of them only which workloads are
// outdated; it is made after each rollout of the mesh, when an EnvoyFilter of it has
// changed, when a namespace was labelled, when all restarts are done, and from time to time. The first one of a process asks for all workloads,
// too: those that a process before it has restarted may not have come up yet.
//
// When no resource asks for a mesh any more and its package is gone, the same is done to take
// away the sidecars that it has left behind, see departure.go.
//
// What has to outlive the process stands in the cluster: on the Istio resource since when
// which setting is what it is and which namespaces have left or joined, on each workload what it was
// restarted for, and on the namespace of Istio since when the mesh is gone. A restart is
// what `kubectl rollout restart` does: a new annotation in the pod template. Where that replaces
// no pods they are deleted one after the other, see replacement.go.
package restarts
