// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/telemetry"
)

// TestRun_NotInstalled: a manager that is started before its definitions says what is
// missing, and waits.
func TestRun_NotInstalled(t *testing.T) {
	answers := map[string]string{
		"/api":                          `{"kind":"APIVersions","versions":[]}`,
		"/apis":                         `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiextensions.k8s.io","versions":[{"groupVersion":"apiextensions.k8s.io/v1","version":"v1"}]}]}`,
		"/apis/apiextensions.k8s.io":    `{"kind":"APIGroup","apiVersion":"v1","name":"apiextensions.k8s.io","versions":[{"groupVersion":"apiextensions.k8s.io/v1","version":"v1"}]}`,
		"/apis/apiextensions.k8s.io/v1": `{"kind":"APIResourceList","groupVersion":"apiextensions.k8s.io/v1","resources":[{"name":"customresourcedefinitions","kind":"CustomResourceDefinition","verbs":["get"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	reported := make(chan string, 1)
	logger := funcr.New(func(_, text string) {
		select {
		case reported <- text:
		default:
		}
	}, funcr.Options{})
	o := DefaultOptions()
	o.LeaderElect, o.MetricsAddress, o.HealthAddress = false, "0", "0"
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logger))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, &rest.Config{Host: server.URL}, o) }()
	select {
	case err := <-ended:
		t.Fatalf("the manager ended: %v", err)
	case text := <-reported:
		if !strings.Contains(text, "packages.strata.run") || !strings.Contains(text, "kubectl apply --server-side -k config/default") {
			t.Errorf("neither what is missing nor what to do is in the message: %s", text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ending a manager that waits: %v", err)
	}
}

// TestManagerOptions_Shutdown: a manager that gets a signal ends before it is killed, with
// time to spare.
func TestManagerOptions_Shutdown(t *testing.T) {
	options, err := managerOptions(telemetry.NewMetrics(), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := os.ReadFile("../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const grace = "terminationGracePeriodSeconds: 15\n"
	if !strings.Contains(string(deployment), grace) {
		t.Errorf("config/manager does not say %s", grace)
	}
	if limit := options.GracefulShutdownTimeout; limit == nil || *limit <= 0 || *limit > 12*time.Second {
		t.Errorf("a manager takes %v to end, want less than the 15 s that its pod has", limit)
	}
}

// TestNewCache_NeedsNoFront: how kinds are cached is set without the definitions of any front, which
// a cluster may lack.
func TestNewCache_NeedsNoFront(t *testing.T) {
	options, err := managerOptions(telemetry.NewMetrics(), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	served := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Node", "Service", "Event", "Secret"} {
		served.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	served.Add(v1alpha1.GroupVersion.WithKind("Revision"), meta.RESTScopeRoot)
	caches := options.Cache
	caches.Scheme, caches.Mapper, caches.HTTPClient = options.Scheme, served, http.DefaultClient
	if _, err := newCache(&rest.Config{Host: "http://127.0.0.1:1"}, caches); err != nil {
		t.Error(err)
	}
}
