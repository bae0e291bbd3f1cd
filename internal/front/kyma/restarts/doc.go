// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restarts is the controller that restarts workloads whose proxies are outdated.
//
// Pods keep the proxy, and much of its configuration, that they got when they were made. When the
// mesh changes, they are outdated until something replaces them. The controller is keyed by workload,
// so that no rollout of a user's workload ever blocks the mesh, nor the other way round; the empty key
// stands for the mesh. A pass over the mesh goes one way:
//
//	observe ─► mesh ─► uninstall, rollout ─► survey of all pods ─► queue ─► workloads, one by one
//	                                                                 │
//	                                   status, events, metrics ◄─────┘
//
// A mesh is one observation: the Istio resource, its package, the [Target] and the notes about it. A
// [Survey] compares all pods with it and finds the [Causes] that they are outdated in, and their
// workloads ([Resolve]). What a pod shows, such as its proxy's image, is compared with the target; what
// it does not show is compared by time: the [Changes] keeps since when a setting of the mesh is what it
// is, and a pod that is older runs without it. [Decide] says what to do about one workload.
//
// The queue lets no more than a number of workloads roll out at a time, and none while one that was
// restarted does not come up. Nothing is restarted outside of the [Window]. A survey is made after each
// rollout of the mesh, when an EnvoyFilter of it or the labels of a namespace have changed, when all
// restarts are done, and from time to time; at rest the controller sends no request.
//
// When no resource asks for a mesh any more and its package is gone, workloads are restarted to remove
// the sidecars that it has left behind, see uninstall.go.
//
// What has to outlive the process stands in the cluster. On the workload, an annotation records the
// causes that it was restarted for: the same cause, which is the same thing since the same time, never
// restarts a workload again. If its pods are still outdated then, restarting does not help, and a user
// has to act. A new process finds restarts that are not complete by that record: the pod template is the
// one that was restarted, and has not served yet. On the Istio resource stands since when which setting
// is what it is, and which namespaces have left or joined; on the namespace of Istio, since when the mesh
// is gone. A restart is what `kubectl rollout restart` does: a new annotation in the pod template. Where
// that replaces no pods they are deleted one after the other.
package restarts
