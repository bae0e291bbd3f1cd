// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// tagAnnotation names an image of a layout.
const tagAnnotation = "org.opencontainers.image.ref.name"

// UnpackLayout unpacks an image of an OCI image layout, a folder of this machine, into a folder that is
// empty. No tag is for the only image that there is.
func UnpackLayout(ctx context.Context, from, tag, folder string, unpack Unpack) (Image, error) {
	image := Image{Reference: "oci:" + from}
	index, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return image, fmt.Errorf("reading the OCI layout %s: %w", from, err)
	}
	found, err := taggedImage(index, tag)
	if err == nil {
		err = image.read(ctx, found, folder, unpack)
	}
	if err != nil {
		return image, fmt.Errorf("reading the OCI layout %s: %w", from, err)
	}
	return image, nil
}

// taggedImage is the image of a tag, which may be an index of those for several platforms.
func taggedImage(index v1.ImageIndex, tag string) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(slices.Clone(manifest.Manifests), func(one v1.Descriptor) bool { return tag != "" && one.Annotations[tagAnnotation] != tag })
	switch {
	case len(of) == 0 && tag != "":
		return nil, fmt.Errorf("it has no image with the tag %q", tag)
	case len(of) == 1 && of[0].MediaType.IsImage():
		return index.Image(of[0].Digest)
	case len(of) == 1 && of[0].MediaType.IsIndex():
		below, err := index.ImageIndex(of[0].Digest)
		if err != nil {
			return nil, err
		}
		return chooseOf(below)
	}
	return chooseOf(index)
}
