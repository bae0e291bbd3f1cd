// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/istio"
)

// A purge deletes what the mesh has left, when its resource asks for that, and nothing that another
// package has taken over or that was never the mesh's.
func TestObserver_Purge(t *testing.T) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	names, controls := istio.CRDNames(), true
	crd := func(name, pkg string, owners ...metav1.OwnerReference) client.Object {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: "u", Labels: map[string]string{v1alpha1.LabelPackage: pkg}, OwnerReferences: owners,
		}}
	}
	ours := crd(names[0], servicemesh.PackageCRDs)
	others := []client.Object{
		crd(names[1], "istio-crds", metav1.OwnerReference{Name: "istio-crds", Controller: &controls}),
		crd(names[2], servicemesh.PackageCRDs, metav1.OwnerReference{Name: servicemesh.PackageCRDs, Controller: &controls}),
		crd(names[3], ""), crd("certificates.cert-manager.io", servicemesh.PackageCRDs),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.IstioNamespace, UID: "n", Labels: map[string]string{v1alpha1.LabelPackage: servicemesh.PackageIstio}}}
	for name, tc := range map[string]struct {
		reason, value string
		goes          bool
	}{
		"Asked":    {reason: "the resource asks for it", value: "true", goes: true},
		"NotAsked": {reason: "what users may need stays by default"},
		"Other":    {reason: "another value is no wish", value: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			api := fake.NewClientBuilder().WithScheme(types).WithObjects(append([]client.Object{ours, namespace}, others...)...).Build()
			k := &observer{live: api, writer: api}
			istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Annotations: map[string]string{v1alpha2.AnnotationPurge: tc.value}}}
			if err := k.purge(t.Context(), front.Group[*v1alpha2.Istio]{Deleting: []*v1alpha2.Istio{istio}}, true); err != nil {
				t.Fatal(err)
			}
			gone := func(o client.Object) bool {
				found, _ := o.DeepCopyObject().(client.Object)
				err := api.Get(t.Context(), client.ObjectKeyFromObject(o), found)
				if client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				}
				return apierrors.IsNotFound(err)
			}
			if gone(ours) != tc.goes || gone(namespace) != tc.goes {
				t.Errorf("%s: the CRD is gone: %t, the namespace: %t", tc.reason, gone(ours), gone(namespace))
			}
			for _, o := range others {
				if gone(o) {
					t.Errorf("%s: %s is gone, which is not the mesh's", tc.reason, o.GetName())
				}
			}
		})
	}
}
