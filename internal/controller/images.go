// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/front/gatewayclass"
)

// ImageSettings are images that run instead of those of the Istio releases.
type ImageSettings struct {
	// All are for every version, and Versions, by minor version, for one: a component
	// of these wins.
	All      gatewayclass.Images
	Versions map[string]gatewayclass.Images
}

// Names of the environment variables with images; with the suffix _1_31 they are for
// that version alone.
const (
	envIstiodImage = "RELATED_IMAGE_ISTIOD"
	envProxyImage  = "RELATED_IMAGE_PROXY"
)

// imageFile is what a file with images holds.
type imageFile struct {
	gatewayclass.Images `json:",inline"`

	Versions map[string]gatewayclass.Images `json:"versions"`
}

// ReadImages finds out which images to run: component by component a flag wins over the
// environment, and that over the file. Getenv reads the environment.
func (o *Options) ReadImages(getenv func(name string) string) error {
	settings := ImageSettings{}
	if o.ImagesFile != "" {
		file, err := readImageFile(o.ImagesFile)
		if err != nil {
			return fmt.Errorf("--images-file: %w", err)
		}
		settings.apply(file)
	}
	settings.apply(imagesOfEnvironment(getenv))
	settings.apply(ImageSettings{All: gatewayclass.Images{
		Istiod: o.IstiodImage, IstiodSource: "flag --istiod-image", Proxy: o.ProxyImage, ProxySource: "flag --proxy-image",
	}})
	o.Images = settings
	o.readAgentImage(getenv)
	o.Kyma.Getenv = getenv
	return nil
}

func readImageFile(path string) (ImageSettings, error) {
	data, err := fs.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return ImageSettings{}, fmt.Errorf("reading the images: %w", err)
	}
	file := imageFile{}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return ImageSettings{}, fmt.Errorf("reading the images in %s: %w", path, err)
	}
	from := func(images gatewayclass.Images) gatewayclass.Images {
		images.IstiodSource, images.ProxySource = "file "+path, "file "+path
		return images
	}
	settings := ImageSettings{All: from(file.Images), Versions: map[string]gatewayclass.Images{}}
	for version, images := range file.Versions {
		settings.Versions[version] = from(images)
	}
	return settings, nil
}

func imagesOfEnvironment(getenv func(name string) string) ImageSettings {
	read := func(suffix string) gatewayclass.Images {
		return gatewayclass.Images{
			Istiod: getenv(envIstiodImage + suffix), IstiodSource: "variable " + envIstiodImage + suffix,
			Proxy: getenv(envProxyImage + suffix), ProxySource: "variable " + envProxyImage + suffix,
		}
	}
	settings := ImageSettings{All: read(""), Versions: map[string]gatewayclass.Images{}}
	for _, minor := range gatewayclass.Versions() {
		settings.Versions[minor] = read("_" + strings.ReplaceAll(minor, ".", "_"))
	}
	return settings
}

// apply puts other settings over these. One for every version also takes the place of
// those for a version that were there before.
func (s *ImageSettings) apply(over ImageSettings) {
	versions := map[string]gatewayclass.Images{}
	for minor, images := range s.Versions {
		if over.All.Istiod != "" {
			images.Istiod = ""
		}
		if over.All.Proxy != "" {
			images.Proxy = ""
		}
		versions[minor] = images
	}
	s.All = overlay(s.All, over.All)
	for minor, images := range over.Versions {
		versions[minor] = overlay(versions[minor], images)
	}
	s.Versions = versions
}

func overlay(under, over gatewayclass.Images) gatewayclass.Images {
	if over.Istiod != "" {
		under.Istiod, under.IstiodSource = over.Istiod, over.IstiodSource
	}
	if over.Proxy != "" {
		under.Proxy, under.ProxySource = over.Proxy, over.ProxySource
	}
	return under
}

// Validate says which image is no full reference, or for a version that is not known.
func (s ImageSettings) Validate() error {
	if err := s.All.Validate(); err != nil {
		return err
	}
	for minor, images := range s.Versions {
		if !slices.Contains(gatewayclass.Versions(), minor) { // no class looks up a patch version
			return fmt.Errorf("images of Istio %s: there is no such version: take one of %s", minor, strings.Join(gatewayclass.Versions(), ", "))
		}
		if err := images.Validate(); err != nil {
			return fmt.Errorf("images of Istio %s: %w", minor, err)
		}
	}
	return nil
}
