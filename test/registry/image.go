// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// catalogLabel says which folder of an image a file-based catalog is in.
const catalogLabel = "operators.operatorframework.io.index.configs.v1"

// push packs a folder, and writes the image into a registry.
func push(ctx context.Context, folder, reference string) (v1.Hash, error) {
	to, err := name.ParseReference(reference)
	if err != nil {
		return v1.Hash{}, err
	}
	image, err := pack(folder)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := remote.Write(to, image, remote.WithContext(ctx)); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}

// pack makes an image of a folder. Equal files make an image with an equal digest.
func pack(folder string) (v1.Image, error) {
	layer, err := archive(os.DirFS(folder))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, static.NewLayer(layer, types.OCIUncompressedLayer)); err != nil {
		return nil, err
	}
	config := v1.Config{}
	if info, err := os.Stat(filepath.Join(folder, "configs")); err == nil && info.IsDir() {
		config.Labels = map[string]string{catalogLabel: "/configs"}
	}
	return mutate.Config(image, config)
}

// archive is a tar file of all files, by their names.
func archive(files fs.FS) ([]byte, error) {
	out := &bytes.Buffer{}
	writer := tar.NewWriter(out)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if err := writer.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644}); err != nil {
			return err
		}
		_, err = writer.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out.Bytes(), writer.Close()
}
