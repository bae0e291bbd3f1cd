// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMesh(t *testing.T) {
	m, gather := newMetrics(t, &store{})
	ofMesh := func() map[string]float64 {
		all := gather()
		maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "istio_") })
		return all
	}
	plain := map[string]float64{
		"istio_compatibility_mode_enabled{}": 0, "istio_dnsproxy_used{}": 0, "istio_egress_gateway_used{}": 0,
		"istio_ext_auth_providers_total{}": 0, "istio_ext_auth_timeout_configured_number_total{}": 0, "istio_ext_auth_path_prefix_configured_number_total{}": 0,
		"istio_network_policies_enabled{}": 0, "istio_num_trusted_proxies_configured{}": 0, "istio_prometheus_merge_enabled{}": 0, "istio_trust_domain_configured{}": 0,
	}
	full := map[string]float64{"istio_forward_client_cert_details_setting{xfcc_setting=SANITIZE}": 1}
	for name := range plain {
		full[name] = 1
	}
	full["istio_ext_auth_providers_total{}"], full["istio_ext_auth_timeout_configured_number_total{}"] = 3, 2
	steps := []struct {
		reason string
		mesh   *Mesh
		want   map[string]float64
	}{
		{"nothing describes a mesh", nil, map[string]float64{}},
		{"a mesh with everything", &Mesh{
			CompatibilityMode: true, DNSProxying: true, EgressGateway: true, NetworkPolicies: true, PrometheusMerge: true, TrustedProxies: true, TrustDomain: true,
			Authorizers: 3, WithTimeout: 2, WithPathPrefix: 1, ForwardClientCert: "SANITIZE",
		}, full},
		{"a setting that is taken back leaves no series of its value", &Mesh{}, plain},
		{"the last one has gone", nil, map[string]float64{}},
	}
	for _, step := range steps {
		m.Mesh(step.mesh)
		if diff := cmp.Diff(step.want, ofMesh()); diff != "" {
			t.Errorf("%s\n%s", step.reason, diff)
		}
	}
}
