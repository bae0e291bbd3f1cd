// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the Istio custom resource of the Kyma project, group
// operator.kyma-project.io, as clusters have it: field names, validation, states, condition
// types, reasons, the finalizer and the annotations are facts that others rely on.
//
// An [Istio] stands in the namespace kyma-system. The oldest one describes the mesh, any
// other is in state Error. The API server sets no defaults: a field that is not set means
// what its comment says. Everything that a client must know by name stands in conditions.go.
//
// +kubebuilder:object:generate=true
// +groupName=operator.kyma-project.io
package v1alpha2
