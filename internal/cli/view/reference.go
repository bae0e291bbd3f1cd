// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

// ReferenceOf names an object.
func ReferenceOf(object interface {
	metav1.Object
	runtime.Object
}) v1alpha1.ObjectReference {
	kind := object.GetObjectKind().GroupVersionKind()
	return v1alpha1.ObjectReference{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// NameOf is an object as -o name writes it, and as kubectl reads it: kind.group/name.
func NameOf(ref v1alpha1.ObjectReference) string {
	return strings.ToLower(ref.Kind) + Prefixed(".", ref.Group) + "/" + ref.Name
}

// NamesObject says whether an argument names an object: KIND/NAME, with the group
// after the kind, or the namespace before the name, or both, if need be. Case does not
// matter in the kind, and neither does the plural.
func NamesObject(argument string, ref v1alpha1.ObjectReference) bool {
	kind, name, ok := strings.Cut(argument, "/")
	if !ok {
		return false
	}
	kind, group, hasGroup := strings.Cut(strings.ToLower(kind), ".")
	if hasGroup && group != ref.Group {
		return false
	}
	own := strings.ToLower(ref.Kind)
	if kind != own && kind != own+"s" && kind != own+"es" && kind != strings.TrimSuffix(own, "y")+"ies" && kind != shortKinds[own] {
		return false
	}
	return name == ref.Name || name == ref.Namespace+"/"+ref.Name
}

// shortKinds are the short names of kinds that people type most.
var shortKinds = map[string]string{
	"configmap": "cm", "customresourcedefinition": "crd", "daemonset": "ds", "deployment": "deploy", "ingress": "ing", "namespace": "ns",
	"networkpolicy": "netpol", "persistentvolume": "pv", "persistentvolumeclaim": "pvc", "pod": "po", "poddisruptionbudget": "pdb",
	"priorityclass": "pc", "replicaset": "rs", "replicationcontroller": "rc", "resourcequota": "quota", "service": "svc",
	"serviceaccount": "sa", "statefulset": "sts", "storageclass": "sc", "horizontalpodautoscaler": "hpa", "cronjob": "cj",
}
