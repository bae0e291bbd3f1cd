// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

// What the manager may do. `make generate` turns the markers into config/rbac;
// docs/threat-model.md explains the second role.
//
// Role strata-manager: our own kinds, and the fronts'. A status is patched. Slices
// are created, get one more owner with each package that shares them, and are
// deleted when no revision refers to them; their metadata are watched.
// Update on finalizers is what an API server may ask of who sets owner references.
//
// +kubebuilder:rbac:groups=strata.run,resources=packages,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=revisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=objectslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=packages/status;revisions/status,verbs=patch
// +kubebuilder:rbac:groups=strata.run,resources=packages/finalizers,verbs=update
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses/status,verbs=patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses/finalizers,verbs=update
//
// Gateways are looked at in all namespaces, and written to in openshift-ingress: their
// statuses, what belongs to them and the configuration of OpenShift is read, and a
// finalizer is put on DNSRecords where that is asked for. Services and warnings are
// watched in openshift-ingress alone; the namespace need not exist when this role is
// installed, so that the role cannot say so.
//
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=services;events,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=ingress.operator.openshift.io,resources=dnsrecords,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=config.openshift.io,resources=dnses;infrastructures,verbs=get;list;watch
//
// For GatewayClasses: Gateways get a label; OpenShift's configuration and OLM's kinds are
// read, where there are any; an Istio of an operator before this one is deleted; Istio CRDs
// that OLM has left behind get other labels. The Deployment of istiod, and the Secrets of
// the Helm release of an operator before this one, are read and deleted with the rights of
// the role below: their namespace need not exist.
//
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=config.openshift.io,resources=proxies;infrastructures;apiservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=subscriptions;installplans,verbs=get;list;watch
// +kubebuilder:rbac:groups=sailoperator.io,resources=istios,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=sailoperator.io,resources=istiorevisions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch;patch
//
// IstioCSRs stand in any namespace. What their agents depend on is watched object by
// object with the rights of the role below, which also writes the copy of the CA
// certificates: a ConfigMap in the namespace of the IstioCSR.
//
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs/status,verbs=patch
// +kubebuilder:rbac:groups=operator.openshift.io,resources=istiocsrs/finalizers,verbs=update
//
// Istio resources of Kyma stand in kyma-system. What a mesh depends on, such as nodes, and
// custom resources of Istio that keep it from being deleted, are read with the rights of the
// role below. So are, for restarts of workloads with an outdated proxy, pods, ReplicaSets,
// workloads and the metadata of namespaces; workloads are patched.
//
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios/status,verbs=patch
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios/finalizers,verbs=update
//
// Who asks for metrics is asked about at the API server. Events about our own kinds,
// which are cluster-scoped, stand in the namespace default; the like of an event that
// was recorded already is counted with a patch.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create;patch
//
// Role strata-manager-operands: the objects of packages. Which kinds these are is
// only known when a revision is made, and a revision may bring its own kinds, so
// the groups and resources cannot be listed. An apply needs create and patch;
// nothing is ever updated. Roles that hold more than the manager need escalate,
// and bindings to them bind.
//
// +kubebuilder:rbac:groups=*,resources=*,verbs=get;list;watch;create;patch;delete,roleName=strata-manager-operands
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;clusterroles,verbs=escalate;bind,roleName=strata-manager-operands
//
// Packages that name a ServiceAccount are rolled out as that, which takes the right
// to impersonate it. The API server adds the groups of ServiceAccounts by itself.
//
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=impersonate,roleName=strata-manager-operands
//
// In the manager's own namespace: the Secrets with the manifests of kind Secret, like
// slices, and the key that their digests are made with; the lease of the leader
// election, which is updated, and the events about it.
//
// +kubebuilder:rbac:groups="",namespace=strata-system,resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=strata-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=strata-system,resources=events,verbs=create;patch
