// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

// TestMirrors pulls from where a registries file says, and follows its changes.
func TestMirrors(t *testing.T) {
	registry := startRegistry(t, false)
	digest := registry.push(t, "mirror/app:v1", imageOf(t, []string{"a.txt=A"}))
	path := filepath.Join(t.TempDir(), "registries.conf")
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOST", registry.host)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	write(`
[[registry]]
prefix = "registry.invalid/team"
location = "registry.invalid/other"
[[registry.mirror]]
location = "127.0.0.1:1/dead"
[[registry.mirror]]
location = "HOST/mirror"
[[registry]]
location = "registry.invalid/secret"
blocked = true
`, now.Add(-time.Hour))
	mirrors, err := NewMirrors(path)
	if err != nil {
		t.Fatal(err)
	}
	client := registry.client()
	client.Mirrors = mirrors
	image := "registry.invalid/team/app@" + digest
	folder := t.TempDir()
	if pulled, err := client.Pull(t.Context(), image, nil, folder, Unpack{Limits: BundleLimits}); err != nil || pulled.Reference != image {
		t.Fatalf("got %+v, %v", pulled, err)
	}
	wantFile(t, folder, "a.txt", "A")
	if pinned, err := client.Resolve(t.Context(), "registry.invalid/team/app:v1", nil); err != nil || pinned != image {
		t.Errorf("got %s, %v; want the name that was asked for", pinned, err)
	}
	_, err = client.Resolve(t.Context(), "registry.invalid/secret/app:v1", nil)
	wantKind(t, err, Rejected)
	_, err = client.Resolve(t.Context(), "registry.invalid/team/none:v1", nil)
	wantKind(t, err, Unreachable)
	if err != nil && !strings.Contains(err.Error(), "before that, 127.0.0.1:1 does not accept connections; before that, the registry "+registry.host+" does not have it (404)") {
		t.Errorf("%q does not name what the mirrors said", err)
	}

	write("[[registry]]\nlocation = \"registry.invalid/team\"\nblocked = true\n", now)
	_, err = client.Pull(t.Context(), image, nil, t.TempDir(), Unpack{Limits: BundleLimits})
	wantKind(t, err, Rejected)
	write("[[registry", now.Add(time.Hour))
	if _, err := NewMirrors(path); err == nil {
		t.Error("a file that does not parse is taken")
	}
}

// TestMirrors_Insecure talks without TLS only to registries that are marked. Without the mark there is
// no request, although the address is a private one.
func TestMirrors_Insecure(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		w.Header().Set("Docker-Content-Digest", storeDigest(1))
		w.Header().Set("Content-Length", "2")
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	client := &Client{}
	if _, err := client.Resolve(t.Context(), host+"/app:v1", nil); err == nil || requests.Load() > 0 {
		t.Errorf("got %v after %d requests without TLS", err, requests.Load())
	}

	path := filepath.Join(t.TempDir(), "registries.conf")
	if err := os.WriteFile(path, []byte("[[registry]]\nlocation = \""+host+"\"\ninsecure = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if client.Mirrors, err = NewMirrors(path); err != nil {
		t.Fatal(err)
	}
	if pinned, err := client.Resolve(t.Context(), host+"/app:v1", nil); err != nil || pinned != host+"/app@"+storeDigest(1) {
		t.Errorf("got %s, %v", pinned, err)
	}
}
