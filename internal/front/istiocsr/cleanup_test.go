// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

func TestGoingFirst(t *testing.T) {
	elsewhere := csrIn("b", true)
	elsewhere.Spec.IstioCSRConfig.Istio.Namespace = "other-mesh"
	for name, tc := range map[string]struct {
		reason string
		group  csrGroup
		want   []string
	}{
		"Alone":     {"its own package is no other", csrGroup{Existing: packagesOf("a")}, nil},
		"Deleting":  {"the one before has the roles still", csrGroup{Existing: packagesOf("a", "b"), Deleting: []*operatorv1alpha1.IstioCSR{csrIn("b", false)}}, []string{"istio-csr-b"}},
		"Elsewhere": {"the roles of another mesh are others", csrGroup{Existing: packagesOf("b"), Deleting: []*operatorv1alpha1.IstioCSR{elsewhere}}, nil},
		"Forced":    {"without its IstioCSR its mesh is unknown", csrGroup{Existing: packagesOf("c", "b")}, []string{"istio-csr-b", "istio-csr-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, uninstalling(csrIn("a", false), tc.group)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What a package that is gone has left in the mesh has no owner, so that the
// next agent can have it.
func TestObserver_ReleaseLeft(t *testing.T) {
	controller := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1", Controller: new(true)}
	for name, tc := range map[string]struct {
		reason string
		label  string
		owners []metav1.OwnerReference
		exists string // a package
		want   string
	}{
		"Left":       {reason: "its package is gone", label: "istio-csr-b"},
		"Own":        {reason: "it is the agent's own", label: "istio-csr-a", want: "istio-csr-a"},
		"Kept":       {reason: "its package is there", label: "istio-csr-b", exists: "istio-csr-b", want: "istio-csr-b"},
		"Strange":    {reason: "who packs the like is not known", label: "roles", want: "roles"},
		"Controlled": {reason: "another controller has it", label: "istio-csr-b", owners: []metav1.OwnerReference{controller}, want: "istio-csr-b"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			var objects []client.Object
			binding := front.Untyped(bindingKind)
			for _, object := range MeshObjects() {
				made := front.Untyped(object.Kind)
				made.SetNamespace("mesh")
				made.SetName(object.Name)
				made.SetLabels(map[string]string{v1alpha1.LabelPackage: tc.label, "app": "agent"})
				made.SetOwnerReferences(tc.owners)
				objects = append(objects, made)
				if object.Kind == bindingKind && object.Name == AgentName {
					binding = made
				}
			}
			if tc.exists != "" {
				objects = append(objects, &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: tc.exists}})
			}
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			o := &observer{live: cluster, writer: cluster}
			if err := o.releaseMeshObjects(t.Context(), csrIn("a", false), binding.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			for _, object := range MeshObjects() {
				got := front.Untyped(object.Kind)
				if err := cluster.Get(t.Context(), types.NamespacedName{Namespace: "mesh", Name: object.Name}, got); err != nil {
					t.Fatal(err)
				}
				if got.GetLabels()[v1alpha1.LabelPackage] != tc.want || got.GetLabels()["app"] != "agent" {
					t.Errorf("%s: %s %s has the labels %v", tc.reason, object.Kind.Kind, object.Name, got.GetLabels())
				}
			}
		})
	}
}
