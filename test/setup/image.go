// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PushImage writes an image with files into a registry with TLS, and returns its reference.
func PushImage(server *httptest.Server, repository string, labels, files map[string]string, options ...remote.Option) (string, error) {
	layer := &bytes.Buffer{}
	writer := tar.NewWriter(layer)
	for path, content := range files {
		if err := writer.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
			return "", fmt.Errorf("packing %s: %w", path, err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			return "", fmt.Errorf("packing %s: %w", path, err)
		}
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), static.NewLayer(layer.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		return "", fmt.Errorf("making an image: %w", err)
	}
	if image, err = mutate.Config(image, v1.Config{Labels: labels}); err != nil {
		return "", fmt.Errorf("making an image: %w", err)
	}
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "https://") + "/" + repository)
	if err != nil {
		return "", fmt.Errorf("pushing an image: %w", err)
	}
	if err := remote.Write(reference, image, append(options, remote.WithTransport(server.Client().Transport))...); err != nil {
		return "", fmt.Errorf("pushing %s: %w", reference, err)
	}
	return reference.String(), nil
}

// WriteCA writes the CA of a server with TLS to a folder.
func WriteCA(server *httptest.Server, folder string) error {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "ca.crt"), certificate, 0o600); err != nil {
		return fmt.Errorf("writing a CA: %w", err)
	}
	return nil
}
