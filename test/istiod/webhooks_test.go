// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/gatewayclass"
)

const (
	injector  = "istio-sidecar-injector-openshift-gateway-openshift-ingress"
	validator = "istio-validator-openshift-gateway-openshift-ingress"
	proxy     = "registry.istio.io/release/proxyv2:1.31.0"
	// dryNamespace is where nothing is really created. One of the test's own would be
	// deleted at its end, and istiod would be refused to write its certificate there.
	dryNamespace = "default"
)

// patchWebhooks: istiod puts its certificate into its webhooks, and they work: the API
// server calls it, and it answers with what was rendered for it.
func patchWebhooks(t *testing.T) {
	// istiod does so beside accepting the class, and when it has seen that it can be reached.
	eventually(t, "the webhooks to have istiod's certificate", func() string { return unpatched(t) })
	mutating := get(t, &admissionv1.MutatingWebhookConfiguration{}, "", injector)
	validating := get(t, &admissionv1.ValidatingWebhookConfiguration{}, "", validator)
	for _, object := range []client.Object{mutating, validating} {
		if names := writers(object, ""); !slices.Contains(names, istiodWriter) {
			t.Errorf("%s was written by %v, and not by istiod", object.GetName(), names)
		}
	}
	t.Run("Validate", validate)
	t.Run("Inject", func(t *testing.T) { eventuallyInjected(t, injectedLabels, proxy) })
}

// unpatched says which webhook lacks istiod's certificate.
func unpatched(t *testing.T) string {
	t.Helper()
	published := &corev1.ConfigMap{}
	err := admin.Get(t.Context(), client.ObjectKey{Namespace: gatewayclass.Namespace, Name: gatewayclass.CAConfigMap}, published)
	root := published.Data["root-cert.pem"]
	if err != nil || root == "" {
		return fmt.Sprintf("istiod has not published its certificate: %v", err)
	}
	for _, w := range get(t, &admissionv1.MutatingWebhookConfiguration{}, "", injector).Webhooks {
		if string(w.ClientConfig.CABundle) != root {
			return fmt.Sprintf("webhook %s has the certificate %q, want that of istiod", w.Name, w.ClientConfig.CABundle)
		}
	}
	for _, w := range get(t, &admissionv1.ValidatingWebhookConfiguration{}, "", validator).Webhooks {
		if string(w.ClientConfig.CABundle) != root || *w.FailurePolicy != admissionv1.Fail {
			return fmt.Sprintf("webhook %s has the certificate %q and the policy %s, want that of istiod and Fail", w.Name, w.ClientConfig.CABundle, *w.FailurePolicy)
		}
	}
	return ""
}

// validate: what is invalid in Istio's eyes alone is refused, by istiod.
func validate(t *testing.T) {
	virtualService := func(revision string, route map[string]any) error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
			"metadata": map[string]any{"namespace": dryNamespace, "name": "routes", "labels": map[string]any{"istio.io/rev": revision}},
			"spec":     map[string]any{"hosts": []any{"app.example.com"}, "http": []any{route}},
		}}
		return admin.Create(t.Context(), object, client.DryRunAll)
	}
	// The API server has it a moment after the configuration was written.
	eventually(t, "a VirtualService without a route to be refused by istiod", func() string {
		err := virtualService(gatewayclass.IstioRevision, map[string]any{})
		if err == nil || !strings.Contains(err.Error(), "validation.istio.io") || !strings.Contains(err.Error(), "denied the request") {
			return fmt.Sprintf("the answer is %v", err)
		}
		return ""
	})
	good := map[string]any{"route": []any{map[string]any{"destination": map[string]any{"host": "app"}}}}
	if err := virtualService(gatewayclass.IstioRevision, good); err != nil {
		t.Errorf("a good VirtualService is refused: %v", err)
	}
	if err := virtualService("another", map[string]any{}); err != nil {
		t.Errorf("a VirtualService of another revision is not ours to judge: %v", err)
	}
}

// injectedLabels are those of a pod that the istiod of the GatewayClasses gives a proxy.
var injectedLabels = map[string]string{"istio.io/rev": gatewayclass.IstioRevision, "sidecar.istio.io/inject": "true"}

// eventuallyInjected waits until a pod that asks for it gets a proxy from the templates that
// were rendered.
func eventuallyInjected(t *testing.T, labels map[string]string, proxy string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: dryNamespace, Name: "app", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
	}
	eventually(t, "a pod with istio-proxy, with "+proxy, func() string {
		injected := pod.DeepCopy()
		if err := admin.Create(t.Context(), injected, client.DryRunAll); err != nil {
			return err.Error()
		}
		var got []string
		for _, c := range slices.Concat(injected.Spec.InitContainers, injected.Spec.Containers) {
			got = append(got, fmt.Sprintf("%s %s", c.Name, c.Image))
		}
		if !slices.Contains(got, "istio-proxy "+proxy) {
			return fmt.Sprintf("the pod has the containers %v", got)
		}
		return ""
	})
}
