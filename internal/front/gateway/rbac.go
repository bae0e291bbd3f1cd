// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

// What the manager may do for this front: role strata-manager-gateway, which the component
// config/fronts/gateway installs.
//
// Gateways are looked at in all namespaces, and written to in openshift-ingress: their
// statuses, what belongs to them and the configuration of OpenShift is read, and a
// finalizer is put on DNSRecords where that is asked for. Services and warnings are
// watched in openshift-ingress alone; the namespace need not exist when this role is
// installed, so that the role cannot say so.
//
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses;gateways,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=services;events,verbs=list;watch
// +kubebuilder:rbac:groups=ingress.operator.openshift.io,resources=dnsrecords,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=config.openshift.io,resources=dnses;infrastructures,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
