// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// hostile is a registry with one image, of which it serves what a case says.
type hostile struct {
	manifest, layer http.HandlerFunc
	// descriptor changes what the manifest says about the layer.
	descriptor func(*v1.Descriptor)
	// patience is that of the client; long if it is 0.
	patience time.Duration
}

func digestOf(content []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(content))}
}

// start serves the image, and returns its reference.
func (h hostile) start(t *testing.T) (image string, client *Client) {
	t.Helper()
	config, layer := []byte("{}"), archive(t, []tar.Header{file("a=")}, nil)
	descriptor := v1.Descriptor{MediaType: types.OCIUncompressedLayer, Size: int64(len(layer)), Digest: digestOf(layer)}
	if h.descriptor != nil {
		h.descriptor(&descriptor)
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{descriptor},
		Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Size: int64(len(config)), Digest: digestOf(config)},
	})
	if err != nil {
		t.Fatal(err)
	}
	host, caDir := serve(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch path := request.URL.Path; {
		case strings.Contains(path, "/manifests/") && h.manifest != nil:
			h.manifest(w, request)
		case strings.Contains(path, "/manifests/"):
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = w.Write(manifest)
		case strings.HasSuffix(path, digestOf(config).String()):
			_, _ = w.Write(config)
		case strings.Contains(path, "/blobs/") && h.layer != nil:
			h.layer(w, request)
		case strings.Contains(path, "/blobs/"):
			_, _ = w.Write(layer)
		}
	}))
	client = &Client{Transport: NewTransport(TransportConfig{CADir: caDir, Patience: cmp.Or(h.patience, time.Minute)})}
	return host + "/app@" + digestOf(manifest).String(), client
}

func body(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hang answers with the beginning of a body, and then nothing until the client goes.
func hang(w http.ResponseWriter, request *http.Request) {
	_, _ = w.Write([]byte("x"))
	_ = http.NewResponseController(w).Flush()
	<-request.Context().Done()
}

// short is how long clients wait that are to give up.
const short = 200 * time.Millisecond

// endless sends zeros until the client goes.
func endless(w http.ResponseWriter, _ *http.Request) {
	for block := make([]byte, 1<<20); ; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// TestPull_Hostile pulls from registries with faults, and keeps nothing of it.
func TestPull_Hostile(t *testing.T) {
	for _, test := range []struct {
		name     string
		registry hostile
		want     Kind
		text     string
	}{
		{"WrongManifest", hostile{manifest: body("{}")}, Corrupt, "tampered or corrupt: expected sha256:"},
		{"WrongLayer", hostile{layer: body(string(make([]byte, 1536)))}, Corrupt, "tampered or corrupt: expected"},
		{"ShortLayer", hostile{layer: body("x")}, Corrupt, "tampered or corrupt: expected 1536 bytes, got 1"},
		{"EndlessLayer", hostile{layer: endless}, Corrupt, "tampered or corrupt"},
		{"EndlessManifest", hostile{manifest: endless}, Other, ""},
		{"HangingLayer", hostile{layer: hang, patience: short}, TimedOut, "did not answer in time"},
		{"HangingManifest", hostile{manifest: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, patience: short}, TimedOut, "did not answer in time"},
		{"Forbidden", hostile{manifest: status(http.StatusForbidden)}, Forbidden, "403"},
		{"ServerError", hostile{layer: status(http.StatusInternalServerError)}, Other, "500"},
		{"NoLayer", hostile{layer: status(http.StatusNotFound)}, NotFound, "404"},
		{"LargeLayer", hostile{descriptor: func(d *v1.Descriptor) { d.Size = 2 << 30 }}, Refused, "more than 67108864 bytes"},
		{"NegativeLayer", hostile{descriptor: func(d *v1.Descriptor) { d.Size = -1 }}, Refused, "more than 67108864 bytes"},
		{"ForeignLayer", hostile{descriptor: func(d *v1.Descriptor) { d.URLs = []string{"https://example.com/x"} }}, Refused, "other servers"},
		{"UnknownLayer", hostile{descriptor: func(d *v1.Descriptor) { d.MediaType = "text/html" }}, Refused, `media type "text/html"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			image, client := test.registry.start(t)
			store, err := OpenStore(t.TempDir(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			_, digest, _ := strings.Cut(image, "@")
			_, err = store.Add(digest, func(folder string) (Image, error) {
				return client.Pull(t.Context(), image, nil, folder, Unpack{Limits: BundleLimits})
			})
			wantKind(t, err, test.want)
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q, want %q", err, test.text)
			}
			if _, found := store.Get(digest); found {
				t.Error("the image is in the store")
			}
			if left, err := os.ReadDir(store.folder + "/" + unfinished); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestPull_Limits ends a pull that takes too long in all, though each part comes in time, and one
// that is cancelled.
func TestPull_Limits(t *testing.T) {
	reached := make(chan struct{}, 2)
	trickle := func(w http.ResponseWriter, request *http.Request) {
		reached <- struct{}{}
		for tick := time.NewTicker(20 * time.Millisecond); request.Context().Err() == nil; {
			_, _ = w.Write([]byte{0})
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	}
	image, client := hostile{layer: trickle}.start(t)
	client.Timeout = time.Second
	_, err := client.Pull(t.Context(), image, nil, t.TempDir(), Unpack{Limits: BundleLimits})
	wantKind(t, err, TimedOut)

	client.Timeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := client.Pull(ctx, image, nil, t.TempDir(), Unpack{Limits: BundleLimits}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a pull that was cancelled", err)
	}
}
