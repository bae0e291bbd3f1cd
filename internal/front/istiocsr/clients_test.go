// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestPointsAt(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		kind   int
		spec   string
		want   bool
	}{
		"CAAddress":      {"where proxies ask", 0, "{values: {global: {caAddress: 'cert-manager-istio-csr.csr.svc:443'}}}", true},
		"MeshConfig":     {"where istiod asks", 0, "{values: {meshConfig: {ca: {address: 'cert-manager-istio-csr.csr.svc:443'}}}}", true},
		"FullName":       {"the same host, in full", 0, "{values: {global: {caAddress: 'cert-manager-istio-csr.csr.svc.cluster.local:443'}}}", true},
		"URL":            {"the same host, as a URL", 0, "{values: {global: {caAddress: 'https://Cert-Manager-Istio-CSR.csr.svc:443'}}}", true},
		"Ambient":        {"where the proxies of nodes ask", 3, "{values: {ztunnel: {caAddress: 'https://cert-manager-istio-csr.csr.svc:443'}}}", true},
		"OtherNamespace": {"another agent", 0, "{values: {global: {caAddress: 'cert-manager-istio-csr.csr2.svc:443'}}}", false},
		"OtherHost":      {"a host that only begins like it", 0, "{values: {global: {caAddress: 'cert-manager-istio-csr.csr.svcs:443'}}}", false},
		"Nothing":        {"istiod signs itself", 0, "{values: {}}", false},
		"NoText":         {"what is no address", 0, "{values: {global: {caAddress: 7}}}", false},
		"NoObject":       {"what is no object", 0, "{values: 7}", false},
		"Revision":       {"a mesh that is made of revisions", 1, "{values: {global: {caAddress: 'cert-manager-istio-csr.csr.svc:443'}}}", true},
		"OlderMesh":      {"where the older operator has it", 2, "{security: {certificateAuthority: {cert-manager: {address: 'cert-manager-istio-csr.csr.svc:443'}}}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			mesh := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m"}, "spec": spec}}
			if got := ClientKinds()[tc.kind].PointsAt(mesh, "csr"); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
	mesh := &unstructured.Unstructured{Object: map[string]any{}}
	mesh.SetName("basic")
	if got := ClientKinds()[0].Name(mesh); got != "Istio basic" {
		t.Errorf("it is named %q", got)
	}
	mesh.SetNamespace("mesh")
	if got := ClientKinds()[2].Name(mesh); got != "ServiceMeshControlPlane mesh/basic" {
		t.Errorf("it is named %q", got)
	}
}

// Whatever has installed istiod, its injector says where proxies get certificates.
func TestInjectorPointsAt(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		data   map[string]any
		want   bool
		fails  bool
	}{
		"Points":  {"the agent is their CA", map[string]any{"values": `{"global": {"caAddress": "cert-manager-istio-csr.csr.svc:443"}}`}, true, false},
		"Another": {"the agent of another namespace", map[string]any{"values": `{"global": {"caAddress": "cert-manager-istio-csr.csr2.svc:443"}}`}, false, false},
		"Istiod":  {"istiod signs itself", map[string]any{"values": `{"global": {"caAddress": ""}}`}, false, false},
		"Empty":   {"nothing is set", map[string]any{"values": `{}`}, false, false},
		"None":    {"an unknown way to configure proxies is not taken for unused", map[string]any{"config": "x"}, false, true},
		"NoJSON":  {"what cannot be read is not taken for unused", map[string]any{"values": "a: b"}, false, true},
		"NoText":  {"what is no address is not taken for unused", map[string]any{"values": `{"global": {"caAddress": 7}}`}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := InjectorPointsAt(&unstructured.Unstructured{Object: map[string]any{"data": tc.data}}, "csr")
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: %v (%v)", tc.reason, got, err)
			}
		})
	}
	ic := smallest()
	ic.Spec.IstioCSRConfig.Istio.Revisions = []string{"default", "canary", "1-29-0"}
	want := []string{"istio-sidecar-injector", "istio-sidecar-injector-1-29-0", "istio-sidecar-injector-canary"}
	if diff := cmp.Diff(want, InjectorConfigs(ic)); diff != "" {
		t.Errorf("ConfigMaps (-want +got):\n%s", diff)
	}
}
