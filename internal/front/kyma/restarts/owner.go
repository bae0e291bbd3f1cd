// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of workloads that can be restarted, all but the last of the group apps.
const (
	KindDeployment            = "Deployment"
	KindStatefulSet           = "StatefulSet"
	KindDaemonSet             = "DaemonSet"
	KindReplicaSet            = "ReplicaSet" // between pods and Deployments, or by itself
	KindReplicationController = "ReplicationController"
)

// Workload names what replaces pods. In a list for a user, its kind may be any.
type Workload struct {
	Kind, Namespace, Name string
}

// String is such as shop/Deployment/cart.
func (w Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// Compare orders workloads by namespace, kind and name.
func (w Workload) Compare(other Workload) int {
	return cmp.Or(cmp.Compare(w.Namespace, other.Namespace), cmp.Compare(w.Kind, other.Kind), cmp.Compare(w.Name, other.Name))
}

// GroupVersionKind is the kind to ask the API server for.
func (w Workload) GroupVersionKind() schema.GroupVersionKind {
	if w.Kind == KindReplicationController {
		return schema.GroupVersionKind{Version: "v1", Kind: w.Kind}
	}
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.Kind}
}

// KeepsPods says that the workload leaves pods as they are when its template changes: to
// restart it they are deleted, one after the other.
func (w Workload) KeepsPods() bool {
	return w.Kind == KindReplicaSet || w.Kind == KindReplicationController
}

// OfReplicaSet says whether a pod belongs to a ReplicaSet, whose own owner must be known to
// find the workload.
func (p *Pod) OfReplicaSet() bool {
	return p.Owner != nil && kindOf(p.Owner) == appsKind(KindReplicaSet)
}

// Manual is a workload that only a user can restart.
type Manual struct {
	Workload Workload
	// APIVersion and UID distinguish it from other objects of its kind and name.
	APIVersion string
	UID        types.UID
	// Reason is why.
	Reason string
}

// Resolve is the workload of a pod. Of a pod of a ReplicaSet, above are the owners of that.
// Manual is set when nothing can restart the workload.
func Resolve(p *Pod, above []metav1.OwnerReference) (Workload, *Manual) {
	owner := p.Owner
	if owner == nil {
		w := Workload{"Pod", p.Namespace, p.Name}
		return w, &Manual{w, "v1", p.UID, "no controller recreates it: delete it and create it again"}
	}
	if p.OfReplicaSet() {
		if owner = ownerOf(above); owner == nil {
			return Workload{Kind: KindReplicaSet, Namespace: p.Namespace, Name: p.Owner.Name}, nil
		}
	}
	switch kindOf(owner) {
	case appsKind(KindDeployment), appsKind(KindStatefulSet), appsKind(KindDaemonSet), schema.GroupKind{Kind: KindReplicationController}:
		return Workload{Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}, nil
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return p.byOwner(owner, "a restart would run it again: wait for its end, or run it again")
	}
	return p.byOwner(owner, fmt.Sprintf("the manager cannot restart a %s of %s: restart it with its own tools", owner.Kind, owner.APIVersion))
}

// Unresolved is the workload for a pod of a ReplicaSet that cannot be read.
func Unresolved(p *Pod, problem error) (Workload, *Manual) {
	return p.byOwner(p.Owner, fmt.Sprintf("it cannot be read: %v", problem))
}

func (p *Pod) byOwner(owner *metav1.OwnerReference, reason string) (Workload, *Manual) {
	w := Workload{Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}
	return w, &Manual{w, owner.APIVersion, owner.UID, reason}
}

// RoleOf is the role of the pods of a workload, as far as its name tells.
func RoleOf(w Workload) Role {
	switch w {
	case Workload{KindDeployment, istioNamespace, ingressGateway}:
		return RoleGateway
	case Workload{KindDeployment, istioNamespace, egressGateway}:
		return RoleEgress
	}
	return RoleCustomer
}

func appsKind(kind string) schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: kind} }

func kindOf(r *metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}
