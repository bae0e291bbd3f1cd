// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the part of the API group operator.openshift.io that Strata
// serves: the kind [IstioCSR], with which an admin asks for an istio-csr agent.
//
// It takes every object that the cert-manager operator's kind of this name takes,
// and stores it with the same defaults. Where that one let through what cannot
// work, this one refuses it: a duration that is none, a port that changes by way
// of removing server. [AgentConfig] is all that it has besides; nothing of it has
// an effect unless it is set.
//
// An object whose spec cannot be decoded, which a laxer definition of the kind may
// have let through, is decoded without it: see [IstioCSRSpec.Undecodable].
//
// +kubebuilder:object:generate=true
// +groupName=operator.openshift.io
package v1alpha1
