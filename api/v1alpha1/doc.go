// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the Kubernetes API of Strata: group strata.run, version
// v1alpha1, three cluster-scoped kinds.
//
//   - A [Package] is the line that revisions belong to. It owns every managed
//     object and is the one thing an admin lists.
//   - A [Revision] is one immutable, phased rendering of an operand. A new
//     content is a new Revision with the next number; only its lifecycleState
//     ever changes.
//   - An [ObjectSlice] holds content that is too large to stand in a Revision.
//     It is named by the digest of what it holds, so revisions share it.
//
// Every condition type and reason stands in conditions.go, every label,
// annotation, finalizer and field owner in labels.go. The package imports
// nothing of ours, so that other modules can use it.
//
// +kubebuilder:object:generate=true
// +groupName=strata.run
package v1alpha1
