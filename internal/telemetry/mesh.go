// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Mesh is what the Istio resource that describes the mesh of Kyma makes use of.
type Mesh struct {
	// CompatibilityMode, DNSProxying, EgressGateway, NetworkPolicies and PrometheusMerge say
	// that it switches them on.
	CompatibilityMode, DNSProxying, EgressGateway, NetworkPolicies, PrometheusMerge bool
	// TrustedProxies and TrustDomain say that it sets them to another value than Istio's.
	TrustedProxies, TrustDomain bool
	// Authorizers is how many external authorizers it has; WithTimeout and WithPathPrefix how
	// many of these set that.
	Authorizers, WithTimeout, WithPathPrefix int
	// ForwardClientCert is how gateways treat the header with the client's certificate, such
	// as SANITIZE; empty when it does not say.
	ForwardClientCert string
}

// Mesh takes in what the mesh of Kyma makes use of; nil says that nothing describes one, and
// drops the series.
func (m *Metrics) Mesh(mesh *Mesh) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.mesh = mesh
}

// meshes are the gauges about the mesh of Kyma, whose names are those of Kyma's own operator.
type meshes struct{ *Metrics }

// Describe implements prometheus.Collector.
func (m *meshes) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range meshCatalog() {
		descs <- d.desc()
	}
}

// Collect implements prometheus.Collector.
func (m *meshes) Collect(metrics chan<- prometheus.Metric) {
	m.lock.Lock()
	mesh := m.mesh
	m.lock.Unlock()
	if mesh == nil {
		return
	}
	out := series{metrics}
	for _, of := range []struct {
		description Description
		on          bool
	}{
		{meshCompatibility, mesh.CompatibilityMode}, {meshDNSProxy, mesh.DNSProxying}, {meshEgress, mesh.EgressGateway},
		{meshPolicies, mesh.NetworkPolicies}, {meshProxies, mesh.TrustedProxies}, {meshMerge, mesh.PrometheusMerge}, {meshTrustDomain, mesh.TrustDomain},
	} {
		value := 0.0
		if of.on {
			value = 1
		}
		out.gauge(of.description, value)
	}
	out.gauge(meshAuthorizers, float64(mesh.Authorizers))
	out.gauge(meshTimeouts, float64(mesh.WithTimeout))
	out.gauge(meshPathPrefixes, float64(mesh.WithPathPrefix))
	if mesh.ForwardClientCert != "" {
		out.gauge(meshClientCert, 1, mesh.ForwardClientCert)
	}
}
