// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
)

// The names in the mesh are the same for each agent, so that one takes over from another;
// one that was left running keeps its rights there, and nowhere else.
func TestAccess_LeftRunning(t *testing.T) {
	in := Input{IstioCSR: &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: operatorv1alpha1.Name}}}
	in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
	in.Facts.LeftRunning = []string{"a", "b"}
	want := map[string][]string{
		"ClusterRoleBinding/cert-manager-istio-csr-here": nil,
		"RoleBinding/cert-manager-istio-csr":             {"a", "b"},
		"RoleBinding/cert-manager-istio-csr-leases":      {"a", "b"},
	}
	got := map[string][]string{}
	for _, object := range newObjects(in).access() {
		if strings.HasSuffix(object.GetKind(), "Binding") {
			got[object.GetKind()+"/"+object.GetName()] = OthersBound(in.IstioCSR, object)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("others with rights (-want +got):\n%s", diff)
	}
	in.Facts.CertManager, in.Facts.Namespace, in.Facts.Issuer = true, true, Issuer{Exists: true, Type: "ca", Ready: true}
	in.IstioCSR.Spec.IstioCSRConfig.IstiodTLSConfig.TrustDomain = "cluster.local"
	in.IstioCSR.Spec.IstioCSRConfig.CertManager.IssuerRef = operatorv1alpha1.IssuerReference{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}
	in.Image = Image{Reference: DefaultImage}
	shared := func(object *unstructured.Unstructured) bool {
		return slices.Contains(MeshObjects(), MeshObject{object.GroupVersionKind(), object.GetName()})
	}
	beside := in
	beside.IstioCSR = in.IstioCSR.DeepCopy()
	beside.IstioCSR.Namespace = "mesh"
	for _, tc := range []struct {
		in     Input
		others []string
	}{{in, nil}, {in, in.Facts.LeftRunning}, {beside, in.Facts.LeftRunning}} {
		alone, others := tc.in, tc.others
		alone.Facts.LeftRunning = others
		p := Render(alone)
		retained := 0
		for _, phase := range p.Phases {
			for _, object := range phase.Objects {
				if object.Deletion == v1alpha1.ObjectRetain {
					retained++
				}
				if object.Manifest.GetNamespace() == "mesh" != shared(object.Manifest) && alone.IstioCSR.Namespace != "mesh" {
					t.Errorf("%s %s is shared by the agents of a mesh: %v", object.Manifest.GetKind(), object.Manifest.GetName(), shared(object.Manifest))
				}
				if got := object.Deletion == v1alpha1.ObjectRetain; got != (len(others) > 0 && shared(object.Manifest)) {
					t.Errorf("beside %q %s %s stays after a removal: %v", others, object.Manifest.GetKind(), object.Manifest.GetName(), got)
				}
			}
		}
		if p.Blocked != "" || len(others) > 0 && retained != 5 {
			t.Errorf("beside %q %d objects stay after a removal (%s)", others, retained, p.Blocked)
		}
	}
	in.Facts.Publisher, in.Facts.LeftApart = "a", []string{"b"}
	texts := []string{
		"another agent runs for this mesh in namespace a without an IstioCSR; it holds Lease mesh/istio-csr, and so it is the one that publishes ConfigMap istio-ca-root-cert; " +
			"when no mesh points at it any more, run `kubectl delete deployment cert-manager-istio-csr -n a`",
		"another agent runs for this mesh in namespace b without an IstioCSR; it uses another issuer, so it does not follow when the CA changes; " +
			"when no mesh points at it any more, run `kubectl delete deployment cert-manager-istio-csr -n b`",
	}
	if diff := cmp.Diff(texts, Warnings(in)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestOthersBound(t *testing.T) {
	ic := &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: "here"}}
	account := func(namespace, name string) map[string]any {
		return map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": name}
	}
	cases := map[string]struct {
		reason   string
		subjects any
		want     []string
	}{
		"None":    {reason: "no account has rights", subjects: nil},
		"Own":     {reason: "its own agent is no other", subjects: []any{account("here", AgentName)}},
		"Others":  {reason: "each counts once", subjects: []any{account("z", AgentName), account("here", AgentName), account("a", AgentName), account("z", AgentName)}, want: []string{"a", "z"}},
		"Foreign": {reason: "what is no agent's account does not count", subjects: []any{account("a", "default"), map[string]any{"kind": "User", "name": AgentName}, "x"}},
		"Wrong":   {reason: "nor is what is no list", subjects: "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			binding := &unstructured.Unstructured{Object: map[string]any{"subjects": tc.subjects}}
			if got := OthersBound(ic, binding); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
