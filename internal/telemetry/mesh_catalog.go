// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

// The metrics of the mesh of Kyma. There are none while no Istio resource describes one. Their
// names are those that dashboards of Kyma ask for, hence without our prefix.
var (
	meshCompatibility = Description{
		Name: "istio_compatibility_mode_enabled", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets compatibilityMode, 0 otherwise.",
	}
	meshDNSProxy = Description{
		Name: "istio_dnsproxy_used", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets enableDNSProxying to true, 0 otherwise.",
	}
	meshEgress = Description{
		Name: "istio_egress_gateway_used", Type: gauge,
		Help: "1 if the Istio resource of Kyma switches the egress gateway on, 0 otherwise.",
	}
	meshAuthorizers = Description{
		Name: "istio_ext_auth_providers_total", Type: gauge,
		Help: "External authorizers of the Istio resource of Kyma.",
	}
	meshTimeouts = Description{
		Name: "istio_ext_auth_timeout_configured_number_total", Type: gauge,
		Help: "Of the external authorizers, those with a timeout.",
	}
	meshPathPrefixes = Description{
		Name: "istio_ext_auth_path_prefix_configured_number_total", Type: gauge,
		Help: "Of the external authorizers, those with a pathPrefix.",
	}
	meshClientCert = Description{
		Name: "istio_forward_client_cert_details_setting", Type: gauge, Labels: []string{"xfcc_setting"},
		Help: "1 for the value that the Istio resource of Kyma has for forwardClientCertDetails. No series when it is not set.",
	}
	meshPolicies = Description{
		Name: "istio_network_policies_enabled", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets networkPoliciesEnabled, 0 otherwise.",
	}
	meshProxies = Description{
		Name: "istio_num_trusted_proxies_configured", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets numTrustedProxies to more than 0, 0 otherwise.",
	}
	meshMerge = Description{
		Name: "istio_prometheus_merge_enabled", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets prometheusMerge, 0 otherwise.",
	}
	meshTrustDomain = Description{
		Name: "istio_trust_domain_configured", Type: gauge,
		Help: "1 if the Istio resource of Kyma sets a trustDomain other than cluster.local, 0 otherwise.",
	}
)

// meshCatalog is every metric of the mesh of Kyma, in the order of the reference.
func meshCatalog() []Description {
	return []Description{
		meshCompatibility, meshDNSProxy, meshEgress, meshAuthorizers, meshTimeouts, meshPathPrefixes,
		meshClientCert, meshPolicies, meshProxies, meshMerge, meshTrustDomain,
	}
}
