// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

// What the manager may do for this front: role strata-manager-clusterextension, which the component
// config/fronts/clusterextension installs.
//
// ClusterExtensions get a finalizer and a status, ClusterCatalogs a status, and both lose finalizers of
// OLM's own controllers when they are deleted. The lease of the controller of ClusterExtensions is
// watched, and gets events. Of namespaces and ServiceAccounts it is watched which there are.
// Pull secrets are read one by one, by name, with the rights of the role strata-manager-operands: their
// namespaces are not known before. Without that role, "get" on the Secrets that are to count has to be
// granted. The Secrets of releases of OLM's controller, and the objects that these have made, are read
// and handed over with that role, too: "list" on Secrets in the namespaces of OLM.
//
// +kubebuilder:rbac:groups="",resources=namespaces;serviceaccounts,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=9c4404e7.operatorframework.io,verbs=get;list;watch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clustercatalogs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions/status;clustercatalogs/status,verbs=patch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
