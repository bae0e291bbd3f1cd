// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources gets what ClusterExtensions are made of from outside of the cluster, beside the
// loop: the contents of catalogs ([Catalogs]) and the images of bundles ([Bundles]).
//
// A pass of the loop observes: it gets what is on disk, and says what it wants. Nothing is asked
// of a registry or a server while that is there and current (decide.go says when it is). Otherwise
// a job of the [oci.Queue] gets it, which wakes the loop when it ends, and is cancelled when nothing
// wants it any more.
package sources
