// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// grown is how many bytes more the process has from the system after a function.
func grown(do func()) int64 {
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.Sys) - int64(before.Sys)
}

// TestUnpack_MillionFiles refuses a million files, kept or not, in little memory.
func TestUnpack_MillionFiles(t *testing.T) {
	layer := &bytes.Buffer{}
	zipped, err := gzip.NewWriterLevel(layer, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	writer := tar.NewWriter(zipped)
	for i := range 1_000_001 {
		if err := writer.WriteHeader(&tar.Header{Name: fmt.Sprintf("files/%d", i), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	for want, unpack := range map[string]Unpack{
		"more than 2000 files":      {Limits: BundleLimits},
		"more than 20000 files":     {keep: "files", Limits: CatalogLimits},
		"more than 1000000 entries": {keep: "configs", Limits: CatalogLimits},
	} {
		took := grown(func() {
			if err := unpackAll(t, t.TempDir(), unpack, layer.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
		if took > 32<<20 {
			t.Errorf("%s: %d bytes of memory", want, took)
		}
	}
}

// TestPull_TwoGigabytes streams a layer of 2 GB, of which a catalog keeps one file and a bundle nothing.
func TestPull_TwoGigabytes(t *testing.T) {
	const size = 2 << 30
	file := bytes.Buffer{}
	archive := tar.NewWriter(&file)
	kept := []byte(`{"schema":"olm.package","name":"p"}`)
	for _, header := range []tar.Header{{Name: "configs/p.json", Typeflag: tar.TypeReg, Size: int64(len(kept))}, {Name: "usr/bin/program", Typeflag: tar.TypeReg, Size: size - 4096}} {
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Name == "configs/p.json" {
			if _, err := archive.Write(kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	start := file.Bytes()
	content := func() io.Reader {
		return io.MultiReader(bytes.NewReader(start), io.LimitReader(zeros{}, size-int64(len(start))))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, content()); err != nil {
		t.Fatal(err)
	}
	digest := v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sum.Sum(nil))}
	served := atomic.Int64{}
	image, client := hostile{
		descriptor: func(d *v1.Descriptor) {
			*d = v1.Descriptor{MediaType: types.OCIUncompressedLayer, Size: size, Digest: digest}
		},
		layer: func(w http.ResponseWriter, _ *http.Request) {
			sent, _ := io.Copy(w, content())
			served.Add(sent)
		},
	}.start(t)
	_, err := client.Pull(t.Context(), image, nil, t.TempDir(), Unpack{Limits: BundleLimits})
	wantKind(t, err, Refused)
	if served.Load() > 0 {
		t.Errorf("%d bytes are downloaded of a layer that is refused", served.Load())
	}
	into := t.TempDir()
	took := grown(func() {
		_, err = client.Pull(t.Context(), image, nil, into, Unpack{Limits: CatalogLimits, Folder: func(Image) (string, error) { return "/configs", nil }})
	})
	if err != nil || served.Load() != size || took > 32<<20 {
		t.Errorf("%v after %d bytes, %d bytes of memory", err, served.Load(), took)
	}
	wantFile(t, into, "p.json", string(kept))
}

// TestUnpack_Checksum refuses a layer whose compressed form is broken, also behind the end of the archive.
func TestUnpack_Checksum(t *testing.T) {
	layer := &bytes.Buffer{}
	zipped := gzip.NewWriter(layer)
	if _, err := zipped.Write(archive(t, []tar.Header{file("a=")}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	whole := layer.Bytes()
	for name, broken := range map[string][]byte{
		"Checksum": append(bytes.Clone(whole[:len(whole)-8]), append([]byte{1, 2, 3, 4}, whole[len(whole)-4:]...)...),
		"Cut":      whole[:len(whole)-8],
		"Length":   append(bytes.Clone(whole[:len(whole)-4]), 1, 2, 3, 4),
		"Trailing": append(bytes.Clone(whole), "<html>"...),
	} {
		t.Run(name, func(t *testing.T) {
			err := unpackAll(t, t.TempDir(), Unpack{Limits: BundleLimits}, broken)
			wantKind(t, err, Refused)
			if err == nil || !strings.Contains(err.Error(), "a layer is not compressed as it says: ") {
				t.Errorf("%v", err)
			}
		})
	}
	bomb := &bytes.Buffer{}
	zipped = gzip.NewWriter(bomb)
	if _, err := io.Copy(zipped, io.MultiReader(bytes.NewReader(archive(t, []tar.Header{file("a=")}, nil)), io.LimitReader(zeros{}, 300<<20))); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	err := unpackAll(t, t.TempDir(), Unpack{Limits: BundleLimits}, bomb.Bytes())
	wantKind(t, err, Refused)
	if err == nil || !strings.Contains(err.Error(), "more than 200 bytes come out of each byte") {
		t.Errorf("a bomb behind the end of the archive: %v", err)
	}
}
