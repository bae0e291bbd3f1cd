// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serveBlobs answers as catalogd does, with content that was unpacked at a time.
func serveBlobs(blobs string, modified time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		http.ServeContent(w, request, "", modified, strings.NewReader(blobs))
	}
}

// breakOff closes the connection.
func breakOff(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// TestServer_Faults keeps the last content whatever a server answers.
func TestServer_Faults(t *testing.T) {
	answer := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(text))
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"NotFound", http.NotFound, "does not have the catalog (404)"},
		{"ServerError", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "500 Internal Server Error"},
		{"HTML", answer("text/html; charset=utf-8", "<html>"), `answers with "text/html; charset=utf-8" and not with a catalog`},
		{"HTMLAsJSON", answer("application/jsonl", "<html>"), "the catalog has no packages: line 1: it is no object"},
		{"Nothing", answer("application/jsonl", ""), "the catalog has no packages"},
		{"HalfAnObject", answer("application/jsonl", packageBlobOf("b")+"\n"+packageBlobOf("c")[:20]), "ends in the middle of an object"},
		{"HalfABody", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/jsonl")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(packageBlobOf("b") + "\n"))
		}, "unexpected EOF"},
		{"HalfAChunkedBody", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/jsonl")
			_, _ = w.Write([]byte(packageBlobOf("b") + "\n"))
			_ = http.NewResponseController(w).Flush()
			breakOff(w)
		}, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := serveBlobs(packageBlobOf("a"), time.Now())
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				if request.URL.Path != "/catalogs/c/api/v1/all" || request.Method != http.MethodGet {
					t.Errorf("asked for %s %s", request.Method, request.URL)
				}
				handler(w, request)
			}))
			defer server.Close()
			store := openStore(t, t.TempDir())
			origin := Server{Client: server.Client(), Base: server.URL + "/catalogs/c", Reference: "r.example/c@sha256:1"}
			if changed, err := store.Refresh(t.Context(), "c", origin); err != nil || !changed {
				t.Fatalf("%v, %v", changed, err)
			}
			handler, origin.Reference = test.handler, "r.example/c@sha256:2"
			if changed, err := store.Refresh(t.Context(), "c", origin); err == nil || changed || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", changed, err, test.want)
			}
			wantPackages(t, store, "c", "a")
		})
	}
}

// TestServer_Unchanged asks no more than it has to.
func TestServer_Unchanged(t *testing.T) {
	requests, first := 0, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var handler http.HandlerFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		requests++
		handler(w, request)
	}))
	defer server.Close()
	store := openStore(t, t.TempDir())
	origin := Server{Client: server.Client(), Base: server.URL, Reference: "r.example/c@sha256:1"}
	handler = serveBlobs(packageBlobOf("a"), first)
	update := func(wantChanged, wantErr bool, wantRequests int) {
		t.Helper()
		changed, err := store.Refresh(t.Context(), "c", origin)
		if changed != wantChanged || (err != nil) != wantErr || requests != wantRequests {
			t.Errorf("changed %v, %v, %d requests", changed, err, requests)
		}
	}
	update(true, false, 1)
	update(false, false, 1) // the status has the same digest
	origin.Reference = "r.example/c@sha256:2"
	update(false, true, 2) // the server does not have it yet: 304
	handler = serveBlobs(packageBlobOf("b"), first.Add(time.Hour))
	update(true, false, 3)
	wantPackages(t, store, "c", "b")
	// A server whose status gives no digest is asked with the time.
	origin.Reference = ""
	handler = serveBlobs(packageBlobOf("b"), first.Add(time.Hour))
	update(false, false, 4)
}

// TestServer_Gzip reads an answer that is compressed, and not more of it than a catalog may have.
func TestServer_Gzip(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("does not ask for gzip")
		}
		w.Header().Set("Content-Type", "application/jsonl")
		w.Header().Set("Content-Encoding", "gzip")
		out := gzip.NewWriter(w)
		fmt.Fprintln(out, packageBlobOf("a"))
		_ = out.Close()
	}))
	defer server.Close()
	store := openStore(t, t.TempDir())
	if _, err := store.Refresh(t.Context(), "c", Server{Client: server.Client(), Base: server.URL}); err != nil {
		t.Fatal(err)
	}
	wantPackages(t, store, "c", "a")
}
