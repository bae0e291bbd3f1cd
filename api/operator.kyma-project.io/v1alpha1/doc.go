// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 serves the Istio resource under its first version, for clients that still
// ask for that. It has the schema of v1alpha2, so nothing is lost on the way between the
// two, and no conversion is needed.
//
// +kubebuilder:object:generate=true
// +groupName=operator.kyma-project.io
package v1alpha1
