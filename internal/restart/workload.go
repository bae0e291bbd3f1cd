// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of workloads that can be restarted, all of the group apps.
const (
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindDaemonSet   = "DaemonSet"
	// KindReplicaSet is between pods and Deployments.
	KindReplicaSet = "ReplicaSet"
)

// Workload names what replaces pods. As an entry of a list for a person, its kind may be any.
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
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: w.Kind}
}

// OfReplicaSet says whether a pod belongs to a ReplicaSet, whose own owner must be known to
// find the workload.
func (p *Pod) OfReplicaSet() bool {
	return p.Owner != nil && kindOf(p.Owner) == appsKind(KindReplicaSet)
}

// Resolve is the workload of a pod. Of a pod of a ReplicaSet, above are the owners of that.
// The problem says why nothing can restart it; the workload is then what a person has to
// look at.
func Resolve(p *Pod, above []metav1.OwnerReference) (w Workload, problem string) {
	owner := p.Owner
	if owner == nil {
		return Workload{"Pod", p.Namespace, p.Name}, "nothing makes it anew: delete it and create it again"
	}
	if p.OfReplicaSet() {
		if owner = ownerOf(above); owner == nil {
			return Workload{KindReplicaSet, p.Namespace, p.Owner.Name}, "it does not replace pods by itself: delete its pods, one after the other"
		}
	}
	w = Workload{Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}
	switch kindOf(owner) {
	case appsKind(KindDeployment), appsKind(KindStatefulSet), appsKind(KindDaemonSet):
		return w, ""
	case schema.GroupKind{Kind: "ReplicationController"}:
		return w, "it does not replace pods by itself: delete its pods, one after the other"
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return w, "a restart would run it again: wait for its end, or run it again"
	}
	return w, fmt.Sprintf("how to restart a %s of %s is not known: restart it with its own tools", owner.Kind, owner.APIVersion)
}

func appsKind(kind string) schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: kind} }

func kindOf(r *metav1.OwnerReference) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return schema.GroupKind{Kind: r.Kind}
	}
	return schema.GroupKind{Group: gv.Group, Kind: r.Kind}
}
