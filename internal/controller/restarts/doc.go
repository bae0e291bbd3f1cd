// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restarts sees to it that no workload runs with an outdated proxy. What that means, and which
// workload is next, is decided by package restart; this package reads pods and workloads, and
// writes to workloads.
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
