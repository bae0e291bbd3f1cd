// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart decides which workloads must be restarted for their proxies, which
// may be restarted next, and what needs a person. It reads and writes nothing.
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
package restart
