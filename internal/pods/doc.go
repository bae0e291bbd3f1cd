// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods finds the pods that keep a workload from being ready, and says why.
//
// A workload's own status only counts its pods. What hangs stands in the pods: an
// image that cannot be pulled, a container that ends again and again, a pod that
// finds no node. [List] asks for the pods of one workload with a single request, and
// [Failing] picks those that do not run, with the reason that the kubelet or the
// scheduler gives. [Text] makes of these what fits into a message. [RolloutOf] says how far a
// workload has replaced its pods.
//
// Apart from List everything here is pure.
package pods
