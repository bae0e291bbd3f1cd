// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/strata-run/strata/internal/istio"
)

// Images are what runs, as full references. All have the same registry and tag.
type Images struct {
	// Hub is the registry with the path before the images' names, such as
	// registry.istio.io/release, and Tag their tag, such as 1.31.0-distroless.
	Hub, Tag string

	// Pilot, Proxy and CNI are istiod, the proxy of sidecars and gateways, and the node
	// agent. Ztunnel is for ambient mode.
	Pilot, Proxy, CNI, Ztunnel string
}

// Settings are those of the manager.
type Settings struct {
	// Release is the version of Istio whose charts are installed.
	Release *istio.Release
	// Images are of that minor version.
	Images Images
	// PullSecret names a Secret to pull images with. Empty for none.
	PullSecret string
	// FIPS says that the images are those with cryptography that FIPS 140 allows.
	FIPS bool
	// Experimental lets Istio resources set spec.experimental.
	Experimental bool
}

// The variables that the settings are read from.
const (
	envPilot   = "pilot"
	envProxy   = "proxyv2"
	envCNI     = "install-cni"
	envZtunnel = "ztunnel"

	envFIPS = "KYMA_FIPS_MODE_ENABLED"
	envPull = "SKR_IMG_PULL_SECRET"

	// imageHub is where the images of Istio's releases are.
	imageHub = "registry.istio.io/release"
)

// SettingsFrom reads the settings for a release from the environment: full image references
// in pilot, proxyv2, install-cni and ztunnel, or with KYMA_FIPS_MODE_ENABLED=true in those
// names with -fips; and SKR_IMG_PULL_SECRET. Without any image they are those of the
// release. The error names the variable that is missing or malformed.
func SettingsFrom(getenv func(string) string, release *istio.Release) (Settings, error) {
	s := Settings{Release: release, PullSecret: getenv(envPull), FIPS: getenv(envFIPS) == "true"}
	suffix := ""
	if s.FIPS {
		suffix = "-fips"
	}
	variables := []struct {
		name     string
		image    *string
		optional bool
	}{
		{envPilot + suffix, &s.Images.Pilot, false},
		{envProxy + suffix, &s.Images.Proxy, false},
		{envCNI + suffix, &s.Images.CNI, false},
		{envZtunnel + suffix, &s.Images.Ztunnel, true},
	}
	given := false
	for _, v := range variables {
		*v.image = getenv(v.name)
		given = given || *v.image != ""
	}
	if !given && !s.FIPS {
		s.Images = released(release)
		return s, nil
	}
	for _, v := range variables {
		if *v.image == "" && v.optional {
			continue
		}
		if err := s.Images.add(*v.image); err != nil {
			return s, fmt.Errorf("environment variable %s: %w", v.name, err)
		}
	}
	err := s.check()
	return s, err
}

// released are the images of a release.
func released(r *istio.Release) Images {
	tag := r.Version() + "-distroless"
	image := func(name string) string { return imageHub + "/" + name + ":" + tag }
	return Images{Hub: imageHub, Tag: tag, Pilot: image(envPilot), Proxy: image(envProxy), CNI: image(envCNI), Ztunnel: image(envZtunnel)}
}

// imageReference is a registry with a path, a name, a tag, and an optional digest. The
// charts put references into YAML, so nothing else may pass.
var imageReference = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)/([a-z0-9]+(?:[._-]+[a-z0-9]+)*):([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})(?:@sha256:[0-9a-f]{64})?$`)

// add takes in the registry and the tag of an image, which must be those of the others.
func (i *Images) add(image string) error {
	if image == "" {
		return fmt.Errorf("is not set: it must be a full image reference, such as %s/pilot:1.31.0-distroless", imageHub)
	}
	parts := imageReference.FindStringSubmatch(image)
	if len(image) > 512 || parts == nil {
		return fmt.Errorf("%.100q is not a full image reference with a tag, such as %s/pilot:1.31.0-distroless", image, imageHub)
	}
	hub, tag := parts[1], parts[3]
	if i.Hub == "" {
		i.Hub, i.Tag = hub, tag
	}
	if hub != i.Hub || tag != i.Tag {
		return fmt.Errorf("%s has another registry or tag than %s and %s: all images must have the same", image, i.Hub, i.Tag)
	}
	return nil
}

// check says whether the images go with the charts.
func (s *Settings) check() error {
	v, err := parseTag(s.Images.Tag)
	if err != nil {
		return fmt.Errorf("reading the tag of the images: %w", err)
	}
	if minor := fmt.Sprintf("%d.%d", v.major, v.minor); minor != s.Release.Minor() {
		return fmt.Errorf("the images are of Istio %s, and the charts of Istio %s: set --kyma-istio-version to one of the versions in the manager (%s) that the images are of",
			s.Images.Tag, s.Release.Version(), strings.Join(istio.Minors(), ", "))
	}
	return nil
}
