// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"maps"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// What Kyma's own operator has installed beside what is taken over goes, once the mesh runs or
// when it leaves: its webhooks would keep pods from being created. Nothing else is touched.
func TestObserver_Prune(t *testing.T) {
	object := func(name string, o client.Object, more ...string) client.Object {
		labels := maps.Clone(map[string]string(operatorLabels))
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		o.SetName(name)
		o.SetLabels(labels)
		return o
	}
	service := func() client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: servicemesh.IstioNamespace}}
	}
	types := runtime.NewScheme()
	if err := scheme.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(types).WithObjects(
		object("istio-revision-tag-default", &admissionregistrationv1.MutatingWebhookConfiguration{}, "install.operator.istio.io/owning-resource-not-pruned", "true"),
		object("istiod-revision-tag-default", service()),
		object("istiod", service(), v1alpha1.LabelPackage, servicemesh.PackageIstio),
		object("other", service(), "install.operator.istio.io/owning-resource", "mine"),
	).Build()
	k := &observer{live: api, writer: api}
	deleted := front.Group[*v1alpha2.Istio]{Deleting: []*v1alpha2.Istio{{}}}
	for _, group := range []front.Group[*v1alpha2.Istio]{{}, deleted} {
		if err := k.pruneOperator(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	left := &corev1.ServiceList{}
	webhooks := &admissionregistrationv1.MutatingWebhookConfigurationList{}
	if err := api.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if err := api.List(t.Context(), webhooks); err != nil {
		t.Fatal(err)
	}
	if len(webhooks.Items) != 0 || len(left.Items) != 2 || left.Items[0].Name != "istiod" || left.Items[1].Name != "other" {
		t.Errorf("left are %d webhooks and the services %v", len(webhooks.Items), left.Items)
	}
	rolledOut := v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.PackageIstio}, Status: v1alpha1.PackageStatus{CurrentRevision: 1, TargetRevision: 2}}
	if runs([]v1alpha1.Package{rolledOut}) {
		t.Error("a rollout that is not over has not taken over everything")
	}
}
