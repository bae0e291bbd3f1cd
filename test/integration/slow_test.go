// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// slowPackages is how many packages have writes that take ten seconds to fail.
const slowPackages = 8

// TestSlowPackages: packages behind a webhook that does not answer keep no other package
// waiting.
func TestSlowPackages(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	before := rolloutTime(t)
	slow := make([]string, slowPackages)
	for i := range slow {
		slow[i] = planetest.Namespace(t, plane)
	}
	webhook := hangingWebhook(hangs, slow)
	must(t, admin.Create(t.Context(), webhook))
	t.Cleanup(func() { must(t, admin.Delete(context.Background(), webhook)) })
	since := time.Now()
	for _, ns := range slow {
		newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
	}
	planetest.Eventually(t, "the slow packages to be known as such", func() (bool, error) {
		failed := 0
		for _, e := range requests(t, since) {
			if slices.Contains(slow, e.Namespace) && e.Code >= 500 {
				failed++
			}
		}
		return failed >= slowPackages, fmt.Errorf("%d writes have failed", failed)
	})
	during := rolloutTime(t)
	t.Logf("a healthy package takes %s, and %s beside %d slow ones", before, during, slowPackages)
	// Without a lane of their own, the slow ones make it wait for 25 s and more.
	if limit := 3*before + 5*time.Second; during > limit {
		t.Errorf("a healthy package takes %s beside %d slow ones, want no more than %s", during, slowPackages, limit)
	}
}

// rolloutTime is how long the rollout of a small healthy package takes: the median of five.
func rolloutTime(t *testing.T) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 5 {
		ns := planetest.Namespace(t, plane)
		began := time.Now()
		pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
		eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// hangingWebhook asks the server given about every ConfigMap in some namespaces.
func hangingWebhook(server *httptest.Server, namespaces []string) client.Object {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	var values []any
	for _, ns := range namespaces {
		values = append(values, ns)
	}
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": fields{"name": namespaces[0] + ".slow.example.org"},
		"webhooks": []any{fields{
			"name": "slow.example.org", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": int64(10),
			"clientConfig":      fields{"url": server.URL, "caBundle": base64.StdEncoding.EncodeToString(authority)},
			"rules":             []any{fields{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps"}}},
			"namespaceSelector": fields{"matchExpressions": []any{fields{"key": "kubernetes.io/metadata.name", "operator": "In", "values": values}}},
		}},
	}}
}
