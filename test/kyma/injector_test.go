// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/kyma/restarts"
)

// injectHere labels namespaces whose pods get a sidecar of the injector.
const injectHere = "injector-of-the-test"

// injector plays istiod's webhook: it gives pods a sidecar with the image that is set, none
// when that is empty. On the pods it writes the status that is set.
type injector struct {
	image, status atomic.Pointer[string]
	// asked says that a pod was created that asks for a sidecar.
	asked atomic.Bool
}

func startInjector(t *testing.T, image, status string) *injector {
	t.Helper()
	i := &injector{}
	i.give(image)
	i.status.Store(&status)
	server := httptest.NewTLSServer(i)
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: injectHere},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "inject.example.org", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: authority},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{injectHere: "on"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	if err := admin.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), config); err != nil {
			t.Error(err)
		}
	})
	i.awaited(t)
	return i
}

// awaited waits until the API server asks the injector, which it does a moment after it knows of
// it: pods that are made earlier get no sidecar.
func (i *injector) awaited(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "asked-", Labels: map[string]string{injectHere: "on"}}}
	must(t, admin.Create(t.Context(), namespace))
	eventually(t, "the API server to ask the injector", func() (bool, error) {
		err := dryRun(t, namespace.Name)
		return i.asked.Load(), err
	})
	must(t, admin.Delete(t.Context(), namespace))
}

// dryRun makes a pod as if, which tells whether there can be one.
func dryRun(t *testing.T, namespace string) error {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "as-if"}, Spec: deployment("", "", 1).Spec.Template.Spec}
	return admin.Create(t.Context(), pod, client.DryRunAll)
}

// give sets the image of the sidecars that pods get from now on.
func (i *injector) give(image string) { i.image.Store(&image) }

// ServeHTTP answers a review of a pod.
func (i *injector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review, pod := admissionv1.AdmissionReview{}, corev1.Pod{}
	err := json.NewDecoder(r.Body).Decode(&review)
	if err == nil {
		err = json.Unmarshal(review.Request.Object.Raw, &pod)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.asked.Store(true)
	if *i.image.Load() == "" {
		answer(w, &review, nil)
		return
	}
	annotations := map[string]string{restarts.AnnotationInjected: *i.status.Load()}
	maps.Copy(annotations, pod.Annotations)
	always := corev1.ContainerRestartPolicyAlways
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/annotations", "value": annotations},
		{"op": "add", "path": "/spec/initContainers", "value": []corev1.Container{{
			Name: "istio-proxy", Image: *i.image.Load(), RestartPolicy: &always, Resources: resources("10m", "192Mi", "1", "1Gi"),
		}}},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, &review, patch)
}

// answer lets an object through, with a patch if there is one.
func answer(w http.ResponseWriter, review *admissionv1.AdmissionReview, patch []byte) {
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if len(patch) > 0 {
		kind := admissionv1.PatchTypeJSONPatch
		review.Response.Patch, review.Response.PatchType = patch, &kind
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
