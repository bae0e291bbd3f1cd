// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/istio"
)

// Settings are those of the manager for the front. [DefaultSettings] are their defaults.
type Settings struct {
	// IstioVersion is what a GatewayClass gets that asks for no other: a version
	// that is in the binary, such as 1.31.
	IstioVersion string

	// IstioResources are the CRDs of Istio that the istiod of GatewayClasses takes
	// configuration from besides Gateway API, or [AllResources].
	IstioResources []string

	// IstiodImage and ProxyImage are full image references that run instead of those of
	// every Istio release. Empty for none.
	IstiodImage, ProxyImage string

	// ImagesFile is a YAML file with images: the fields istiod and proxy for every
	// version, and below versions the same for one, such as "1.31". Empty for none.
	ImagesFile string

	// all are the images for every version, and versions, by minor version, those for one.
	all      Images
	versions map[string]Images
}

// DefaultSettings are the settings without flags.
func DefaultSettings() *Settings {
	return &Settings{IstioVersion: "1.31", IstioResources: DefaultResources()}
}

// AddFlags implements [front.Settings].
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.IstioVersion, "istio-version", s.IstioVersion, "Istio version for a GatewayClass that asks for no other")
	fs.StringSliceVar(&s.IstioResources, "istio-resources", s.IstioResources,
		"CustomResourceDefinitions of Istio that istiod takes configuration from besides Gateway API; "+AllResources+" for all, empty for none")
	fs.StringVar(&s.IstiodImage, "istiod-image", s.IstiodImage, "image that istiod runs instead of its release's; so does the variable "+envIstiodImage)
	fs.StringVar(&s.ProxyImage, "proxy-image", s.ProxyImage, "image that gateways run instead of their release's; so does the variable "+envProxyImage)
	fs.StringVar(&s.ImagesFile, "images-file", s.ImagesFile, "YAML file with the images istiod and proxy, and below versions those of one minor version")
}

// Complete implements [front.Settings]. Component by component an image of a flag wins over one of
// the environment, and that over one of the file.
func (s *Settings) Complete(getenv func(name string) string) error {
	if _, err := AppVersion(s.IstioVersion); err != nil {
		return fmt.Errorf("--istio-version: %w", err)
	}
	if err := CheckResources(s.IstioResources); err != nil {
		return fmt.Errorf("--istio-resources: %w", err)
	}
	s.all, s.versions = Images{}, map[string]Images{}
	if s.ImagesFile != "" {
		if err := s.readFile(); err != nil {
			return fmt.Errorf("--images-file: %w", err)
		}
	}
	s.readEnvironment(getenv)
	s.overlay(Images{
		Istiod: s.IstiodImage, IstiodSource: "flag --istiod-image", Proxy: s.ProxyImage, ProxySource: "flag --proxy-image",
	}, nil)
	return s.validate()
}

// Setup implements [front.Settings].
func (s *Settings) Setup(w front.Wiring) error {
	return setup(w, Input{DefaultVersion: s.IstioVersion, Images: s.all, VersionImages: s.versions, Resources: append([]string{}, s.IstioResources...)})
}

// Names of the environment variables with images; with the suffix _1_31 they are for
// that version alone.
const (
	envIstiodImage = "RELATED_IMAGE_ISTIOD"
	envProxyImage  = "RELATED_IMAGE_PROXY"
)

// imageFile is the content of a file with images.
type imageFile struct {
	Images `json:",inline"`

	Versions map[string]Images `json:"versions"`
}

func (s *Settings) readFile() error {
	data, err := fs.ReadFile(os.DirFS(filepath.Dir(s.ImagesFile)), filepath.Base(s.ImagesFile))
	if err != nil {
		return fmt.Errorf("reading the images: %w", err)
	}
	file := imageFile{}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return fmt.Errorf("reading the images in %s: %w", s.ImagesFile, err)
	}
	from := func(images Images) Images {
		images.IstiodSource, images.ProxySource = "file "+s.ImagesFile, "file "+s.ImagesFile
		return images
	}
	for version, images := range file.Versions {
		file.Versions[version] = from(images)
	}
	s.overlay(from(file.Images), file.Versions)
	return nil
}

func (s *Settings) readEnvironment(getenv func(name string) string) {
	read := func(suffix string) Images {
		return Images{
			Istiod: getenv(envIstiodImage + suffix), IstiodSource: "variable " + envIstiodImage + suffix,
			Proxy: getenv(envProxyImage + suffix), ProxySource: "variable " + envProxyImage + suffix,
		}
	}
	versions := map[string]Images{}
	for _, minor := range istio.Minors() {
		versions[minor] = read("_" + strings.ReplaceAll(minor, ".", "_"))
	}
	s.overlay(read(""), versions)
}

// overlay puts other images over those of before. One for every version also takes the place of
// those for a version that were there before.
func (s *Settings) overlay(all Images, versions map[string]Images) {
	for minor, images := range s.versions {
		if all.Istiod != "" {
			images.Istiod = ""
		}
		if all.Proxy != "" {
			images.Proxy = ""
		}
		s.versions[minor] = images
	}
	s.all = s.all.with(all)
	for minor, images := range versions {
		s.versions[minor] = s.versions[minor].with(images)
	}
}

// validate says which image is no full reference, or for a version that is not known.
func (s *Settings) validate() error {
	if err := s.all.Validate(); err != nil {
		return err
	}
	for minor, images := range s.versions {
		if !slices.Contains(istio.Minors(), minor) { // no class looks up a patch version
			return fmt.Errorf("images of Istio %s: there is no such version: use one of %s", minor, strings.Join(istio.Minors(), ", "))
		}
		if err := images.Validate(); err != nil {
			return fmt.Errorf("images of Istio %s: %w", minor, err)
		}
	}
	return nil
}
