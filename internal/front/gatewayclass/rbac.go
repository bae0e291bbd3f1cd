// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

// What the manager may do for this front: role strata-manager-gatewayclass, which the component
// config/fronts/gatewayclass installs.
//
// Gateways get a label; OpenShift's configuration and OLM's kinds are read, where there are
// any; an Istio of an operator before this one is deleted; Istio CRDs that OLM has left
// behind get other labels. The Deployment of istiod, and the Secrets of the Helm release of
// an operator before this one, are read and deleted with the rights of the role
// strata-manager-operands: their namespace need not exist.
//
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses/status,verbs=patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses/finalizers,verbs=update
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=config.openshift.io,resources=proxies;infrastructures;apiservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=subscriptions;installplans,verbs=get;list;watch
// +kubebuilder:rbac:groups=sailoperator.io,resources=istios,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=sailoperator.io,resources=istiorevisions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch;patch
