// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// seriesOf are the series of a meter, each with its labels.
func seriesOf(t *testing.T, m *meter) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			all[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return all
}

func TestMeter_Mesh(t *testing.T) {
	yes, no, zero, two := true, false, 0, 2
	usual, other, slash, sanitize := "cluster.local", "example.com", "/", v1alpha2.Sanitize
	second := &metav1.Duration{Duration: time.Second}
	plain := map[string]float64{
		"istio_compatibility_mode_enabled": 0, "istio_dnsproxy_used": 0, "istio_egress_gateway_used": 0,
		"istio_ext_auth_providers_total": 0, "istio_ext_auth_timeout_configured_number_total": 0, "istio_ext_auth_path_prefix_configured_number_total": 0,
		"istio_network_policies_enabled": 0, "istio_num_trusted_proxies_configured": 0, "istio_prometheus_merge_enabled": 0, "istio_trust_domain_configured": 0,
	}
	full := map[string]float64{"istio_forward_client_cert_details_setting xfcc_setting=SANITIZE": 1}
	for name := range plain {
		full[name] = 1
	}
	full["istio_ext_auth_providers_total"], full["istio_ext_auth_timeout_configured_number_total"] = 4, 2
	egress := func(gateway v1alpha2.EgressGateway) *v1alpha2.Components {
		return &v1alpha2.Components{EgressGateway: &gateway}
	}
	all := &v1alpha2.IstioSpec{
		Config: v1alpha2.Config{
			NumTrustedProxies: &two, TrustDomain: &other, EnableDNSProxying: &yes, ForwardClientCertDetails: &sanitize,
			Telemetry:   v1alpha2.Telemetry{Metrics: v1alpha2.Metrics{PrometheusMerge: true}},
			Authorizers: []*v1alpha2.Authorizer{{Timeout: second}, {Timeout: second, PathPrefix: &slash}, {}, nil},
		},
		Components:        egress(v1alpha2.EgressGateway{Enabled: &yes}),
		CompatibilityMode: true, NetworkPoliciesEnabled: true,
	}
	defaults := &v1alpha2.IstioSpec{
		Config:     v1alpha2.Config{NumTrustedProxies: &zero, TrustDomain: &usual, EnableDNSProxying: &no},
		Components: egress(v1alpha2.EgressGateway{Enabled: &no}),
	}
	m := newMeter()
	for _, step := range []struct {
		reason string
		spec   *v1alpha2.IstioSpec
		want   map[string]float64
	}{
		{"no resource describes a mesh", nil, map[string]float64{}},
		{"a mesh with everything", all, full},
		{"a setting that is removed leaves no series of its value", &v1alpha2.IstioSpec{}, plain},
		{"what is set to the default counts as not set", defaults, plain},
		{"an egress gateway that is only configured", &v1alpha2.IstioSpec{Components: egress(v1alpha2.EgressGateway{})}, plain},
		{"the last one has gone", nil, map[string]float64{}},
	} {
		var istio *v1alpha2.Istio
		if step.spec != nil {
			istio = &v1alpha2.Istio{Spec: *step.spec}
		}
		m.describes(istio)
		if diff := cmp.Diff(step.want, seriesOf(t, m)); diff != "" {
			t.Errorf("%s\n%s", step.reason, diff)
		}
	}
}

// What is in the catalog is what is collected.
func TestMeter_Catalog(t *testing.T) {
	described, want := map[string]bool{}, map[string]bool{}
	descs := make(chan *prometheus.Desc, 100)
	m := newMeter()
	m.Describe(descs)
	close(descs)
	for desc := range descs {
		described[desc.String()] = true
	}
	for _, d := range catalog() {
		want[d.Desc().String()] = d.Help != ""
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("-catalog +described\n%s", diff)
	}
	m.Restarted("ProxyImage")
	m.Restarts(3, 2, 1)
	got := maps.Clone(seriesOf(t, m))
	if diff := cmp.Diff(map[string]float64{
		"strata_workload_restarts_total cause=ProxyImage": 1,
		"strata_outdated_workloads state=pending":         3, "strata_outdated_workloads state=failed": 2, "strata_outdated_workloads state=manual": 1,
	}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
