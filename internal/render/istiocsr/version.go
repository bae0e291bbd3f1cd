// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"regexp"
	"strconv"
	"strings"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// DefaultImage is what the agent runs unless something else is asked for.
const DefaultImage = "quay.io/jetstack/cert-manager-istio-csr:v0.14.2"

// Image is what the agent runs.
type Image struct {
	// Reference is a full image reference. Required.
	Reference string
	// Version is that of the agent in it. Empty stands for the tag.
	Version string
}

// imageReference is a registry or user, a path, and a tag, a digest or both.
var imageReference = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`)

// IsImage says whether a text is a full image reference, with a tag or a digest.
func IsImage(reference string) bool {
	return len(reference) <= 512 && imageReference.MatchString(reference)
}

// imageOf is the image of an IstioCSR's agent, with its version if that is known.
func imageOf(ic *operatorv1alpha1.IstioCSR, fallback Image) Image {
	image := fallback
	if agent := ic.Spec.AgentConfig; agent != nil && agent.Image != nil {
		image = Image{Reference: agent.Image.Reference, Version: agent.Image.Version}
	}
	if image.Version == "" {
		image.Version = tagOf(image.Reference)
	}
	return image
}

// tagOf is the tag of an image, empty when there is none.
func tagOf(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	name := reference[strings.LastIndex(reference, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// minorVersion is the beginning of a version: v0.16.0, 0.16, v0.16.0-rc.1.
var minorVersion = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})([.+-].*)?$`)

// isAtLeast says whether a version is known to be of a minor or newer.
func isAtLeast(version string, major, minor int) bool {
	parts := minorVersion.FindStringSubmatch(version)
	if parts == nil {
		return false
	}
	gotMajor, _ := strconv.Atoi(parts[1]) // at most four digits
	gotMinor, _ := strconv.Atoi(parts[2])
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}
