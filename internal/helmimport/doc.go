// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package helmimport makes revision 1 of a package from a release that Helm has
// installed, without restarting a pod.
//
// [Importer.Choose] reads the newest deployed version of the release from the
// Secrets that Helm keeps it in. [Importer.Plan] turns its manifest into phases
// (objects.go), and asks the API server by dry run what an apply would change
// (compare.go). The content is what Helm has applied, with three exceptions that
// would change what runs: the replicas of what a HorizontalPodAutoscaler scales, Jobs
// that ran and are gone, and hooks. [Plan.Refusals] are the reasons not to go on.
//
// [Importer.Import] carries the plan out. First the fields that Helm owns in
// managedFields become ours, as far as they stand in the manifest (takeover.go):
// otherwise Helm would own them beside us for ever, and a later revision could not
// remove one. Then the Package, the stored content and the Revision are made, in
// this order: whatever ends the import in between, doing it again completes it. The
// engine then adopts the objects as any others.
//
// Of Helm's code nothing is used: the format of its Secrets is read in release.go,
// and its manifests by internal/chart.
package helmimport
