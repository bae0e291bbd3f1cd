// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ClientKind is a kind that configures a mesh, and where in it the address of the CA may
// stand.
type ClientKind struct {
	Kind  schema.GroupVersionKind
	Paths [][]string
}

// ClientKinds are those of the operators that install a mesh.
func ClientKinds() []ClientKind {
	return []ClientKind{
		{
			Kind: schema.GroupVersionKind{Group: "sailoperator.io", Version: "v1", Kind: "Istio"},
			Paths: [][]string{
				{"spec", "values", "global", "caAddress"},
				{"spec", "values", "meshConfig", "ca", "address"},
			},
		},
		{
			Kind:  schema.GroupVersionKind{Group: "maistra.io", Version: "v2", Kind: "ServiceMeshControlPlane"},
			Paths: [][]string{{"spec", "security", "certificateAuthority", "cert-manager", "address"}},
		},
	}
}

// PointsAt says whether a mesh's configuration has its certificates from the agent in a
// namespace.
func (k ClientKind) PointsAt(mesh *unstructured.Unstructured, namespace string) bool {
	for _, path := range k.Paths {
		// What is no text at that place points nowhere.
		address, _, err := unstructured.NestedString(mesh.Object, path...)
		if err != nil {
			continue
		}
		host, _, _ := strings.Cut(address, ":")
		if host == serviceHost(namespace) || strings.HasPrefix(host, serviceHost(namespace)+".") {
			return true
		}
	}
	return false
}

// Name names a mesh's configuration for people.
func (k ClientKind) Name(mesh *unstructured.Unstructured) string {
	if mesh.GetNamespace() == "" {
		return k.Kind.Kind + " " + mesh.GetName()
	}
	return k.Kind.Kind + " " + mesh.GetNamespace() + "/" + mesh.GetName()
}
