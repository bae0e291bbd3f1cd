// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

// registry is a real one on loopback, with TLS, and a password when it has users.
type registry struct {
	host  string
	caDir string
	// requests are the methods and paths that it was asked for.
	requests []string
}

// user and password are those of registries that have users.
const user, password = "puller", "correct horse"

func startRegistry(t *testing.T, withUsers bool) *registry {
	t.Helper()
	logrus.SetOutput(io.Discard) // the registry logs each request there
	config := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": configuration.Parameters{}},
		Log:     configuration.Log{Level: "fatal", AccessLog: configuration.AccessLog{Disabled: true}},
	}
	config.HTTP.Secret = "only for tests"
	if withUsers {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "htpasswd")
		if err := os.WriteFile(file, []byte(user+":"+string(hash)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "tests", "path": file}}
	}
	r := &registry{}
	app := handlers.NewApp(t.Context(), config)
	r.host, r.caDir = serve(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests = append(r.requests, request.Method+" "+request.URL.Path)
		app.ServeHTTP(w, request)
	}))
	return r
}

// serve runs a server with TLS, and returns its host and a folder with its CA.
func serve(t *testing.T, handler http.Handler) (host, caDir string) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	caDir = t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(caDir, "ca.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(server.URL, "https://"), caDir
}

// client trusts the registry.
func (r *registry) client() *Client {
	return &Client{Transport: NewTransport(TransportConfig{CADir: r.caDir})}
}

// push writes an image or an index, and returns its digest.
func (r *registry) push(t *testing.T, repository string, what interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	reference, err := name.ParseReference(r.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{
		remote.WithTransport(&encrypted{inner: NewTransport(TransportConfig{CADir: r.caDir})}),
		remote.WithAuthFromKeychain(credentialsFor(t, r.host)), remote.WithContext(t.Context()),
	}
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(reference, what, options...)
	case v1.ImageIndex:
		err = remote.WriteIndex(reference, what, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	digest, err := what.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func credentialsFor(t *testing.T, place string) Credentials {
	t.Helper()
	credentials, err := ParseSecret(map[string][]byte{".dockercfg": []byte(`{"` + place + `": {"username": "` + user + `", "password": "` + password + `"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}

// imageOf has a layer for each list of files, "name=content".
func imageOf(t *testing.T, layers ...[]string) v1.Image {
	t.Helper()
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, files := range layers {
		var entries []tar.Header
		var contents []string
		for _, file := range files {
			path, content, _ := strings.Cut(file, "=")
			entries = append(entries, tar.Header{Name: path, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644})
			contents = append(contents, content)
		}
		var err error
		image, err = mutate.AppendLayers(image, static.NewLayer(archive(t, entries, contents), types.OCIUncompressedLayer))
		if err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// archive is a tar file.
func archive(t *testing.T, entries []tar.Header, contents []string) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	writer := tar.NewWriter(out)
	for i := range entries {
		if err := writer.WriteHeader(&entries[i]); err != nil {
			t.Fatal(err)
		}
		if i < len(contents) {
			if _, err := writer.Write([]byte(contents[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
