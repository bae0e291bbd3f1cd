// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"regexp"
	"slices"
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

// releases are the minors of istio-csr whose flags are known, the oldest first. Each has
// the flags of those before it. The last are builds of the main branch of August 2026 and
// later, whose version cannot be read from a number: users give it as the version.
var releases = []string{"0.14", "0.15", "0.16", "0.17", mainBranch}

const mainBranch = "main"

// minorVersion is the beginning of a version: v0.16.0, 0.16, v0.16.0-rc.1.
var minorVersion = regexp.MustCompile(`^v?(\d{1,4}\.\d{1,4})([.+-].*)?$`)

// hasFlag says whether an agent of a version is known to have one of [agentFlags]: it ends
// at a flag that it does not have. One of an unknown version is taken to have those that all
// releases have.
func hasFlag(version, name string) bool {
	since := agentFlags[name].since
	if parts := minorVersion.FindStringSubmatch(version); parts != nil {
		version = parts[1]
	}
	return since == "" || slices.Index(releases, version) >= slices.Index(releases, since)
}
