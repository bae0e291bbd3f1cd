// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"

	"github.com/strata-run/strata/internal/front/istiocsr"
)

// Names of the environment variables with the image of istio-csr: those of the
// cert-manager operator.
const (
	envAgentImage   = "RELATED_IMAGE_CERT_MANAGER_ISTIOCSR"
	envAgentVersion = "ISTIOCSR_OPERAND_IMAGE_VERSION"
)

// readAgentImage takes from the environment what no flag says. A version there is that
// of the image there.
func (o *Options) readAgentImage(getenv func(name string) string) {
	if o.AgentImage != "" {
		return
	}
	o.AgentImage = getenv(envAgentImage)
	o.AgentVersion = cmp.Or(o.AgentVersion, getenv(envAgentVersion))
}

// agentImage is what istio-csr runs that asks for no other.
func (o Options) agentImage() istiocsr.Image {
	return istiocsr.Image{Reference: cmp.Or(o.AgentImage, istiocsr.DefaultImage), Version: o.AgentVersion}
}
