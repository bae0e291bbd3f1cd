// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/telemetry"
)

// Meter takes in the values of metrics.
type Meter interface {
	restarts.Meter

	// Mesh takes in what a mesh makes use of, nil for no mesh.
	Mesh(mesh *telemetry.Mesh)
}

// defaultTrustDomain is Istio's.
const defaultTrustDomain = "cluster.local"

// usedBy is what a resource makes use of; nil gives nil.
func usedBy(istio *v1alpha2.Istio) *telemetry.Mesh {
	if istio == nil {
		return nil
	}
	config := &istio.Spec.Config
	mesh := &telemetry.Mesh{
		CompatibilityMode: istio.Spec.CompatibilityMode,
		DNSProxying:       config.EnableDNSProxying != nil && *config.EnableDNSProxying,
		NetworkPolicies:   istio.Spec.NetworkPoliciesEnabled,
		PrometheusMerge:   config.Telemetry.Metrics.PrometheusMerge,
		TrustedProxies:    config.NumTrustedProxies != nil && *config.NumTrustedProxies > 0,
		TrustDomain:       config.TrustDomain != nil && *config.TrustDomain != defaultTrustDomain,
		Authorizers:       len(config.Authorizers),
	}
	if c := istio.Spec.Components; c != nil && c.EgressGateway != nil && c.EgressGateway.Enabled != nil {
		mesh.EgressGateway = *c.EgressGateway.Enabled
	}
	for _, a := range config.Authorizers {
		if a != nil && a.Timeout != nil {
			mesh.WithTimeout++
		}
		if a != nil && a.PathPrefix != nil {
			mesh.WithPathPrefix++
		}
	}
	if config.ForwardClientCertDetails != nil {
		mesh.ForwardClientCert = string(*config.ForwardClientCertDetails)
	}
	return mesh
}
