// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// The bench measures what Strata costs, and holds it to the figures of
// budget.yaml.
//
// It runs the manager as a process of its own, with the rights that it is shipped
// with, against a local Kubernetes, and counts what the API server's audit log says
// that it has requested. The fixture is a package of 35 objects in three phases of
// six kinds (fixture.go); steps.go installs, drifts, upgrades, rolls back, restarts
// and deletes it; large.go has the manager meet a revision near its bounds; scale.go
// does it with a thousand packages, and extensions.go with a thousand ClusterExtensions on one
// catalog, in a cluster of their own and with a registry that counts its requests. Where a peer can run here, it does the same on the
// same API server (peer.go).
//
//	make bench                     everything, about a quarter of an hour
//	make bench BENCH_PACKAGES=50   the large part with 50 packages: its memory is not judged
//
// The program prints one table and ends with 1 when a row is over its budget, or
// when a row was not measured. Requests are exact; memory is the process's resident
// set, which only Linux tells; times depend on the machine.
package main
