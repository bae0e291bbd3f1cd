// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Config configures the mesh and its gateways.
type Config struct {
	// NumTrustedProxies is how many proxies in front of the ingress gateway are trusted: as
	// many addresses from the right of X-Forwarded-For are theirs. Default unset, which
	// trusts none. A change restarts the ingress gateway.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	NumTrustedProxies *int `json:"numTrustedProxies,omitempty"`

	// ForwardClientCertDetails says what gateways do with the header
	// X-Forwarded-Client-Cert. Default unset, which the gateways take for SANITIZE_SET. A
	// change restarts the ingress gateway.
	// +optional
	// +kubebuilder:validation:Enum=APPEND_FORWARD;SANITIZE_SET;SANITIZE;ALWAYS_FORWARD_ONLY;FORWARD_ONLY
	ForwardClientCertDetails *ForwardClientCertDetails `json:"forwardClientCertDetails,omitempty"`

	// Authorizers are external services that policies with the action CUSTOM can ask. Their
	// names must be unique. Default none.
	// +optional
	Authorizers []*Authorizer `json:"authorizers,omitempty"`

	// GatewayExternalTrafficPolicy is the externalTrafficPolicy of the ingress gateway's
	// Service. Default unset, which Kubernetes takes for Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Local;Cluster
	GatewayExternalTrafficPolicy *string `json:"gatewayExternalTrafficPolicy,omitempty"`

	// Telemetry configures metrics.
	// +optional
	Telemetry Telemetry `json:"telemetry,omitempty"`

	// TrustDomain is the root of the identities in the mesh. Default cluster.local. A change
	// restarts the ingress gateway.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9]*([a-z0-9-_]*)?(\.[a-z0-9]*([a-z0-9-_]*[a-z0-9]*)?)*$`
	TrustDomain *string `json:"trustDomain,omitempty"`

	// EnableDNSProxying lets sidecars answer the DNS questions of their workloads. Default
	// unset, which is off. A change restarts workloads with a sidecar.
	// +optional
	EnableDNSProxying *bool `json:"enableDNSProxying,omitempty"`

	// ProxyStatsMatcher chooses further metrics of the proxies. Default unset. A change
	// restarts workloads with a sidecar and the ingress gateway.
	// +optional
	ProxyStatsMatcher *ProxyStatsMatcher `json:"proxyStatsMatcher,omitempty"`
}

// ForwardClientCertDetails says what a gateway does with X-Forwarded-Client-Cert.
type ForwardClientCertDetails string

// What a gateway can do with the header X-Forwarded-Client-Cert.
const (
	// AppendForward adds the client's certificate to the header of a mutual TLS connection.
	AppendForward ForwardClientCertDetails = "APPEND_FORWARD"
	// SanitizeSet replaces the header by the client's certificate.
	SanitizeSet ForwardClientCertDetails = "SANITIZE_SET"
	// Sanitize removes the header.
	Sanitize ForwardClientCertDetails = "SANITIZE"
	// AlwaysForwardOnly forwards the header whatever the connection.
	AlwaysForwardOnly ForwardClientCertDetails = "ALWAYS_FORWARD_ONLY"
	// ForwardOnly forwards the header of a mutual TLS connection.
	ForwardOnly ForwardClientCertDetails = "FORWARD_ONLY"
)

// Authorizer is an external service that decides about requests over HTTP.
type Authorizer struct {
	// Name is what policies call it. Unique among the authorizers.
	Name string `json:"name"`

	// Service is its host, with the namespace and a slash before it if that is needed to
	// tell it apart, such as auth/ext-authz.auth.svc.cluster.local.
	// +optional
	Service string `json:"service,omitempty"`

	// Port is the one of the service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port uint32 `json:"port"`

	// Headers says which headers go where.
	// +optional
	Headers *Headers `json:"headers,omitempty"`

	// PathPrefix stands before the path of the request that is asked about. Default none.
	// +optional
	PathPrefix *string `json:"pathPrefix,omitempty"`

	// Timeout is how long the answer may take, such as 500ms or 1m30s, with larger units before
	// smaller ones; fractions of a second count.
	// Default unset, which is Istio's, 600s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}([.][0-9]{0,9})?|[.][0-9]{1,9})h)?(([0-9]{1,7}([.][0-9]{0,9})?|[.][0-9]{1,9})m)?(([0-9]{1,9}([.][0-9]{0,9})?|[.][0-9]{1,9})s)?(([0-9]{1,12}([.][0-9]{0,9})?|[.][0-9]{1,9})ms)?(([0-9]{1,15}([.][0-9]{0,9})?|[.][0-9]{1,9})(us|µs))?(([0-9]{1,18}([.][0-9]{0,9})?|[.][0-9]{1,9})ns)?$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Headers says which headers go to the authorizer, the upstream service and the client.
type Headers struct {
	// InCheck are those of the question to the authorizer.
	// +optional
	InCheck *InCheck `json:"inCheck,omitempty"`

	// ToUpstream are those of its answer that the service gets.
	// +optional
	ToUpstream *ToUpstream `json:"toUpstream,omitempty"`

	// ToDownstream are those of its answer that the client gets.
	// +optional
	ToDownstream *ToDownstream `json:"toDownstream,omitempty"`
}

// InCheck are the headers of the question to an authorizer.
type InCheck struct {
	// Include are those of the request that are passed on. A name may begin or end with *.
	// +optional
	Include []string `json:"include,omitempty"`

	// Add are further ones, with their values.
	// +optional
	Add map[string]string `json:"add,omitempty"`
}

// ToUpstream are the headers of an authorizer's answer that the service gets.
type ToUpstream struct {
	// OnAllow are passed on when the request is allowed.
	// +optional
	OnAllow []string `json:"onAllow,omitempty"`
}

// ToDownstream are the headers of an authorizer's answer that the client gets.
type ToDownstream struct {
	// OnAllow are passed on when the request is allowed.
	// +optional
	OnAllow []string `json:"onAllow,omitempty"`

	// OnDeny are passed on when the request is denied.
	// +optional
	OnDeny []string `json:"onDeny,omitempty"`
}

// Telemetry configures metrics.
type Telemetry struct {
	// Metrics configures how metrics are collected.
	// +optional
	Metrics Metrics `json:"metrics,omitempty"`
}

// Metrics configures how metrics are collected.
type Metrics struct {
	// PrometheusMerge lets sidecars serve the metrics of their workload together with their
	// own. Default false. A change restarts workloads with a sidecar.
	// +optional
	PrometheusMerge bool `json:"prometheusMerge,omitempty"`
}

// ProxyStatsMatcher chooses metrics of the proxies.
type ProxyStatsMatcher struct {
	// InclusionRegexps choose metrics by their name. Each must be an RE2 expression.
	// +optional
	InclusionRegexps []string `json:"inclusionRegexps,omitempty"`
}
