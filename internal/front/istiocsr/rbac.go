// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

// What the manager may do for this front: role strata-manager-istiocsr, which the component
// config/fronts/istiocsr installs.
//
// IstioCSRs stand in any namespace. What their agents depend on is watched object by
// object with the rights of the role strata-manager-operands, which also writes the copy of
// the CA certificates: a ConfigMap in the namespace of the IstioCSR.
//
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs/status,verbs=patch
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
