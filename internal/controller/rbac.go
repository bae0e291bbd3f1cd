// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

// What the manager may do. `make generate` turns the markers into config/rbac;
// docs/threat-model.md explains the second role.
//
// Role strata-manager: our own kinds. A status is patched. Slices
// are created, get one more owner with each package that shares them, and are
// deleted when no revision refers to them; their metadata are watched.
// Update on finalizers is what an API server may ask of who sets owner references.
//
// +kubebuilder:rbac:groups=strata.run,resources=packages,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=revisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=objectslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=strata.run,resources=packages/status;revisions/status,verbs=patch
// +kubebuilder:rbac:groups=strata.run,resources=packages/finalizers,verbs=update
// The definitions of these kinds are read before anything is torn down, and the metadata
// of all definitions are watched, so that a front finds out when its kind is served.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
//
// Each front has a role of its own, strata-manager-FRONT: see rbac.go in its folder.
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
