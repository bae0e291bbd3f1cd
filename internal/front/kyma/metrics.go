// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/telemetry"
)

var (
	workloadRestarts = telemetry.Description{
		Name: "strata_workload_restarts_total", Type: telemetry.Counter, Labels: []string{"cause"},
		Help: "Restarts of workloads whose proxies were outdated. One with several causes counts for each.",
	}
	outdatedWorkloads = telemetry.Description{
		Name: "strata_outdated_workloads", Type: telemetry.Gauge, Labels: []string{"state"},
		Help: "Workloads whose proxies are outdated: pending, still to be restarted or under way; failed, of these those that do not come up; " +
			"manual, to be restarted by a person, as the status of the mesh lists them.",
	}
)

// meshMetric is a gauge about the Istio resource that describes the mesh.
type meshMetric struct {
	telemetry.Description

	// value is what it shows of a resource.
	value func(*v1alpha2.IstioSpec) float64
	// label is the value of its label, empty for no series. Nil when it has no label.
	label func(*v1alpha2.IstioSpec) string
}

// meshMetrics are in the order of the reference. There are no series while no Istio resource
// describes a mesh. Their names are those that dashboards of Kyma ask for, hence without our prefix.
var meshMetrics = []meshMetric{
	isOn("istio_compatibility_mode_enabled", "1 if the Istio resource of Kyma sets compatibilityMode, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool { return s.CompatibilityMode }),
	isOn("istio_dnsproxy_used", "1 if the Istio resource of Kyma sets enableDNSProxying to true, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool { return isTrue(s.Config.EnableDNSProxying) }),
	isOn("istio_egress_gateway_used", "1 if the Istio resource of Kyma switches the egress gateway on, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool {
			return s.Components != nil && s.Components.EgressGateway != nil && isTrue(s.Components.EgressGateway.Enabled)
		}),
	authorizersWith("istio_ext_auth_providers_total", "External authorizers of the Istio resource of Kyma.",
		func(*v1alpha2.Authorizer) bool { return true }),
	authorizersWith("istio_ext_auth_timeout_configured_number_total", "Of the external authorizers, those with a timeout.",
		func(a *v1alpha2.Authorizer) bool { return a != nil && a.Timeout != nil }),
	authorizersWith("istio_ext_auth_path_prefix_configured_number_total", "Of the external authorizers, those with a pathPrefix.",
		func(a *v1alpha2.Authorizer) bool { return a != nil && a.PathPrefix != nil }),
	{
		Description: telemetry.Description{
			Name: "istio_forward_client_cert_details_setting", Type: telemetry.Gauge, Labels: []string{"xfcc_setting"},
			Help: "1 for the value that the Istio resource of Kyma has for forwardClientCertDetails. No series when it is not set.",
		},
		value: func(*v1alpha2.IstioSpec) float64 { return 1 },
		label: func(s *v1alpha2.IstioSpec) string {
			if s.Config.ForwardClientCertDetails == nil {
				return ""
			}
			return string(*s.Config.ForwardClientCertDetails)
		},
	},
	isOn("istio_network_policies_enabled", "1 if the Istio resource of Kyma sets networkPoliciesEnabled, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool { return s.NetworkPoliciesEnabled }),
	isOn("istio_num_trusted_proxies_configured", "1 if the Istio resource of Kyma sets numTrustedProxies to more than 0, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool {
			return s.Config.NumTrustedProxies != nil && *s.Config.NumTrustedProxies > 0
		}),
	isOn("istio_prometheus_merge_enabled", "1 if the Istio resource of Kyma sets prometheusMerge, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool { return s.Config.Telemetry.Metrics.PrometheusMerge }),
	isOn("istio_trust_domain_configured", "1 if the Istio resource of Kyma sets a trustDomain other than cluster.local, 0 otherwise.",
		func(s *v1alpha2.IstioSpec) bool {
			return s.Config.TrustDomain != nil && *s.Config.TrustDomain != defaultTrustDomain
		}),
}

// defaultTrustDomain is Istio's.
const defaultTrustDomain = "cluster.local"

// catalog is every metric of the front, in the order of the reference.
func catalog() []telemetry.Description {
	all := []telemetry.Description{workloadRestarts, outdatedWorkloads}
	for _, m := range meshMetrics {
		all = append(all, m.Description)
	}
	return all
}

// isOn is a metric that is 1 or 0.
func isOn(name, help string, on func(*v1alpha2.IstioSpec) bool) meshMetric {
	return meshMetric{Description: telemetry.Description{Name: name, Type: telemetry.Gauge, Help: help}, value: func(s *v1alpha2.IstioSpec) float64 {
		if on(s) {
			return 1
		}
		return 0
	}}
}

// authorizersWith is a metric that counts external authorizers.
func authorizersWith(name, help string, counts func(*v1alpha2.Authorizer) bool) meshMetric {
	return meshMetric{Description: telemetry.Description{Name: name, Type: telemetry.Gauge, Help: help}, value: func(s *v1alpha2.IstioSpec) float64 {
		count := 0.0
		for _, a := range s.Config.Authorizers {
			if counts(a) {
				count++
			}
		}
		return count
	}}
}

func isTrue(value *bool) bool { return value != nil && *value }

// meter has the values of the metrics.
type meter struct {
	restarted *prometheus.CounterVec
	outdated  *prometheus.GaugeVec

	lock sync.Mutex
	// mesh are the gauges of meshMetrics.
	mesh []*prometheus.GaugeVec
}

func newMeter() *meter {
	m := &meter{restarted: workloadRestarts.NewCounter(), outdated: outdatedWorkloads.NewGauge()}
	for _, of := range meshMetrics {
		m.mesh = append(m.mesh, of.NewGauge())
	}
	return m
}

// Restarted counts a restart of a workload for a cause.
func (m *meter) Restarted(cause string) { m.restarted.WithLabelValues(cause).Inc() }

// Restarts sets how many workloads are still to be restarted, how many of those that were
// do not come up, and how many need a person.
func (m *meter) Restarts(pending, failed, manual int) {
	m.outdated.WithLabelValues("pending").Set(float64(pending))
	m.outdated.WithLabelValues("failed").Set(float64(failed))
	m.outdated.WithLabelValues("manual").Set(float64(manual))
}

// describes sets which resource describes the mesh. Nil removes the series.
func (m *meter) describes(istio *v1alpha2.Istio) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for i, of := range meshMetrics {
		m.mesh[i].Reset()
		var labels []string
		if istio != nil && of.label != nil {
			labels = append(labels, of.label(&istio.Spec))
		}
		if istio != nil && !slices.Contains(labels, "") {
			m.mesh[i].WithLabelValues(labels...).Set(of.value(&istio.Spec))
		}
	}
}

func (m *meter) collectors() []prometheus.Collector {
	all := []prometheus.Collector{m.restarted, m.outdated}
	for _, gauge := range m.mesh {
		all = append(all, gauge)
	}
	return all
}

// Describe implements prometheus.Collector.
func (m *meter) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (m *meter) Collect(series chan<- prometheus.Metric) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, c := range m.collectors() {
		c.Collect(series)
	}
}
