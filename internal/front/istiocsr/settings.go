// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// Settings are those of the manager for the front. [DefaultSettings] are their defaults.
type Settings struct {
	// AgentImage is a full image reference that istio-csr runs, and AgentVersion the
	// version of the agent in it, which empty stands for the tag. Empty takes those of the
	// environment, and else [DefaultImage].
	AgentImage, AgentVersion string
	// ClusterResourceNamespace is where cert-manager looks for the Secrets of ClusterIssuers.
	ClusterResourceNamespace string

	// image is what agents run.
	image Image
}

// DefaultSettings are the settings without flags.
func DefaultSettings() *Settings { return &Settings{ClusterResourceNamespace: "cert-manager"} }

// Names of the environment variables with the image of istio-csr: those of the
// cert-manager operator.
const (
	envAgentImage   = "RELATED_IMAGE_CERT_MANAGER_ISTIOCSR"
	envAgentVersion = "ISTIOCSR_OPERAND_IMAGE_VERSION"
)

// AddFlags implements [front.Settings].
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.AgentImage, "istio-csr-image", s.AgentImage, "image that istio-csr runs; so does the variable "+envAgentImage)
	fs.StringVar(&s.AgentVersion, "istio-csr-version", s.AgentVersion, "version of istio-csr in its image, when the tag does not say it; so does the variable "+envAgentVersion)
	fs.StringVar(&s.ClusterResourceNamespace, "cluster-resource-namespace", s.ClusterResourceNamespace, "namespace where cert-manager has the Secrets of ClusterIssuers")
}

// Complete implements [front.Settings]. A version in the environment is that of the image there.
func (s *Settings) Complete(getenv func(name string) string) error {
	s.image = Image{Reference: s.AgentImage, Version: s.AgentVersion}
	if s.AgentImage == "" {
		s.image = Image{Reference: cmp.Or(getenv(envAgentImage), DefaultImage), Version: cmp.Or(s.AgentVersion, getenv(envAgentVersion))}
	}
	if !front.IsImage(s.image.Reference) {
		return fmt.Errorf("--istio-csr-image %.100q is not a full image reference with a tag or digest, such as %s", s.image.Reference, DefaultImage)
	}
	if found := validation.IsDNS1123Label(s.ClusterResourceNamespace); len(found) > 0 {
		return fmt.Errorf("--cluster-resource-namespace %.100q is not a namespace: %s", s.ClusterResourceNamespace, strings.Join(found, "; "))
	}
	return nil
}

// Setup implements [front.Settings].
func (s *Settings) Setup(w front.Wiring) error {
	return front.Setup(w, &operatorv1alpha1.IstioCSR{}, newFront(newObserver(w, s)))
}
