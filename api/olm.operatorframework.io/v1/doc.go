// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is the part of the API group olm.operatorframework.io that Strata serves:
// [ClusterExtension] asks for an extension, such as an operator, and [ClusterCatalog] names a
// catalog that extensions are found in.
//
// It takes every object that OLM's own definitions of these kinds take, and stores it with the
// same defaults, so that manifests for OLM work unchanged. It refuses what they refuse, and
// version expressions with a single "|", which could never be read.
//
// +kubebuilder:object:generate=true
// +groupName=olm.operatorframework.io
package v1
