// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRun_NotInstalled: a manager that is started before its definitions says what is
// missing.
func TestRun_NotInstalled(t *testing.T) {
	empty := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":[]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, found := empty[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	o := DefaultOptions()
	o.LeaderElect, o.MetricsAddress, o.HealthAddress = false, "0", "0"
	err := Run(t.Context(), &rest.Config{Host: server.URL}, o)
	if err == nil || !strings.Contains(err.Error(), "apply the definitions in config/crd first") {
		t.Errorf("the manager ended with %v, want what to do", err)
	}
}
