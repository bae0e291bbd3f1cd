// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// TestAdmitScrapers asks for metrics with tokens that an API server knows, does not accept,
// and does not allow to read metrics.
func TestAdmitScrapers(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		spec, _ := review["spec"].(map[string]any)
		switch token, isToken := spec["token"].(string); {
		case isToken && token == "malformed":
			review["status"] = map[string]any{"error": "invalid bearer token"}
		case isToken:
			review["status"] = map[string]any{"authenticated": true, "user": map[string]any{"username": token}}
		default:
			review["status"] = map[string]any{"allowed": spec["user"] == "scraper"}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	defer api.Close()
	config := &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	filter, err := admitScrapers(config, api.Client())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte("metrics")); err != nil {
			t.Error(err)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"": 401, "malformed": 401, "stranger": 403, "scraper": 200} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("token %q is answered %d %q, want %d", token, answer.Code, answer.Body, want)
		}
	}
}
