// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
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
			Kind: schema.GroupVersionKind{Group: "sailoperator.io", Version: "v1", Kind: "IstioRevision"},
			Paths: [][]string{
				{"spec", "values", "global", "caAddress"},
				{"spec", "values", "meshConfig", "ca", "address"},
			},
		},
		{
			Kind:  schema.GroupVersionKind{Group: "maistra.io", Version: "v2", Kind: "ServiceMeshControlPlane"},
			Paths: [][]string{{"spec", "security", "certificateAuthority", "cert-manager", "address"}},
		},
		{
			// In ambient mode the proxy of the node asks for its workloads.
			Kind: schema.GroupVersionKind{Group: "sailoperator.io", Version: "v1", Kind: "ZTunnel"},
			Paths: [][]string{
				{"spec", "values", "ztunnel", "caAddress"},
				{"spec", "values", "global", "caAddress"},
			},
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
		if isAgent(address, namespace) {
			return true
		}
	}
	return false
}

// isAgent says whether an address is that of the agent in a namespace. It may be a URL, as
// ztunnel has it.
func isAgent(address, namespace string) bool {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, _, _ := strings.Cut(strings.ToLower(address), ":")
	return host == serviceHost(namespace) || strings.HasPrefix(host, serviceHost(namespace)+".")
}

// injectorConfig is the name of the ConfigMap beside istiod that says how proxies are
// configured. That of another revision than the default has the revision's name behind it.
const injectorConfig = "istio-sidecar-injector"

// InjectorConfigs are the names of the ConfigMaps in the namespace of istiod with the
// configuration of proxies, one for each revision of a mesh. Every installation of istiod
// has them.
func InjectorConfigs(ic *operatorv1alpha1.IstioCSR) []string {
	names := []string{injectorConfig}
	for _, revision := range ic.Spec.IstioCSRConfig.Istio.Revisions {
		if revision != defaultRevision {
			names = append(names, injectorConfig+"-"+revision)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// InjectorPointsAt says whether the proxies of a mesh are given the address of the agent
// in a namespace. It fails when that cannot be read out of the ConfigMap.
func InjectorPointsAt(config *unstructured.Unstructured, namespace string) (bool, error) {
	text, found, err := unstructured.NestedString(config.Object, "data", "values")
	if err != nil || !found {
		return false, errors.New("it has no values")
	}
	var values struct {
		Global struct {
			CAAddress string `json:"caAddress"`
		} `json:"global"`
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return false, fmt.Errorf("reading its values: %w", err)
	}
	return isAgent(values.Global.CAAddress, namespace), nil
}

// Name names a mesh's configuration for people.
func (k ClientKind) Name(mesh *unstructured.Unstructured) string {
	if mesh.GetNamespace() == "" {
		return k.Kind.Kind + " " + mesh.GetName()
	}
	return k.Kind.Kind + " " + mesh.GetNamespace() + "/" + mesh.GetName()
}
