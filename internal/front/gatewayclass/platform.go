// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Platform is what the cluster's own configuration asks of a control plane. Only
// OpenShift has it; the zero value is for every other Kubernetes.
type Platform struct {
	// HTTPProxy, HTTPSProxy and NoProxy are for what the gateways request
	// themselves, such as keys of JSON Web Tokens. Empty for none.
	HTTPProxy, HTTPSProxy, NoProxy string

	// SingleReplica says that workloads of the cluster run once: there is one node
	// for them.
	SingleReplica bool

	// TLS is nil where nothing asks for other settings than Istio's own.
	TLS *TLSProfile
}

// TLSProfile are the settings of connections that istiod and the gateways accept.
type TLSProfile struct {
	// OnlyTLS13 says that connections must be of TLS 1.3. Otherwise 1.2 will do;
	// Istio does not offer what is older.
	OnlyTLS13 bool
	// Ciphers are the suites for TLS 1.2, by their OpenSSL names. Those of TLS 1.3
	// cannot be chosen.
	Ciphers []string
	// Curves are the groups for the key exchange. Empty for Istio's own.
	Curves []string
}

// PlatformOf reads the objects named cluster of the group config.openshift.io: the
// Proxy, the Infrastructure and the APIServer. Each may be nil.
func PlatformOf(proxy, infrastructure, apiServer *unstructured.Unstructured) Platform {
	// What is in the Proxy's status has been checked, and its noProxy completed.
	p := Platform{
		HTTPProxy:  text(proxy, "status", "httpProxy"),
		HTTPSProxy: text(proxy, "status", "httpsProxy"),
		NoProxy:    text(proxy, "status", "noProxy"),
		// Of the two topologies, the one of the nodes that are not for the control
		// plane: gateways run there.
		SingleReplica: text(infrastructure, "status", "infrastructureTopology") == "SingleReplica",
	}
	if apiServer != nil {
		p.TLS = tlsProfileOf(apiServer)
	}
	return p
}

func text(o *unstructured.Unstructured, fields ...string) string {
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, fields...)
	return strings.TrimSpace(value)
}

// Versions and ciphers of the profiles of OpenShift (config.openshift.io/v1), without
// the suites of TLS 1.3. They follow Mozilla's recommendations.
var (
	intermediateCiphers = []string{
		"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
		"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
		"ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
	}
	oldCiphers = slices.Concat(intermediateCiphers, []string{
		"ECDHE-ECDSA-AES128-SHA256", "ECDHE-RSA-AES128-SHA256",
		"ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA",
		"ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA",
		"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES128-SHA", "AES256-SHA", "DES-CBC3-SHA",
	})
)

// tlsProfileOf reads spec.tlsSecurityProfile. Without one it is Intermediate, as for
// the API server itself.
func tlsProfileOf(apiServer *unstructured.Unstructured) *TLSProfile {
	profile := []string{"spec", "tlsSecurityProfile"}
	switch text(apiServer, append(slices.Clone(profile), "type")...) {
	case "Modern":
		return &TLSProfile{OnlyTLS13: true}
	case "Old":
		return &TLSProfile{Ciphers: envoyCiphers(oldCiphers)}
	case "Custom":
		of := func(field string) []string {
			list, _, _ := unstructured.NestedStringSlice(apiServer.Object, append(slices.Clone(profile), "custom", field)...)
			return list
		}
		custom := &TLSProfile{
			OnlyTLS13: text(apiServer, append(slices.Clone(profile), "custom", "minTLSVersion")...) == "VersionTLS13",
			Curves:    of("curves"),
		}
		if !custom.OnlyTLS13 {
			custom.Ciphers = envoyCiphers(of("ciphers"))
		}
		return custom
	default:
		return &TLSProfile{Ciphers: envoyCiphers(intermediateCiphers)}
	}
}

// cipherSuites are the suites that Envoy knows, by their OpenSSL names, each with
// the name that Go gives it if istiod offers it as well.
var cipherSuites = map[string]string{
	"ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"ECDHE-RSA-AES128-GCM-SHA256":   "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"ECDHE-RSA-AES256-GCM-SHA384":   "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"ECDHE-RSA-CHACHA20-POLY1305":   "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	"ECDHE-ECDSA-AES128-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	"ECDHE-RSA-AES128-SHA":          "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"ECDHE-ECDSA-AES256-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"ECDHE-RSA-AES256-SHA":          "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"AES128-GCM-SHA256":             "",
	"AES256-GCM-SHA384":             "",
	"AES128-SHA":                    "",
	"AES256-SHA":                    "",
}

// envoyCiphers are the suites among those given that Envoy knows: it refuses its
// whole configuration for one that it does not.
func envoyCiphers(names []string) []string {
	var known []string
	for _, name := range names {
		if _, ok := cipherSuites[name]; ok && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return known
}

// meshTLS are the parts of the mesh configuration for a profile.
func (p *TLSProfile) meshTLS(mesh map[string]any, a abilities) {
	if p == nil {
		return
	}
	settings := func() map[string]any {
		m := map[string]any{}
		if p.OnlyTLS13 {
			m["minProtocolVersion"] = "TLSV1_3"
		} else {
			m["minProtocolVersion"] = "TLSV1_2"
		}
		if len(p.Ciphers) > 0 {
			m["cipherSuites"] = list(p.Ciphers)
		}
		return m
	}
	mesh["meshMTLS"] = settings()
	defaults := settings()
	if !a.gatewaysMinimumTLS {
		delete(defaults, "minProtocolVersion")
	}
	// Istio takes curves for what gateways serve, and refuses them for mutual TLS.
	if len(p.Curves) > 0 {
		defaults["ecdhCurves"] = list(p.Curves)
	}
	mesh["tlsDefaults"] = defaults
}

// arguments are istiod's for its own servers. One that it does not know, or a suite
// that it does not offer, would keep it from starting.
func (p *TLSProfile) arguments(a abilities) []any {
	if p == nil {
		return nil
	}
	var all []any
	if a.minimumTLSVersion {
		version := "1.2"
		if p.OnlyTLS13 {
			version = "1.3"
		}
		all = append(all, "--tls-min-version="+version)
	}
	var suites []string
	for _, name := range p.Ciphers {
		if suite := cipherSuites[name]; suite != "" {
			suites = append(suites, suite)
		}
	}
	if len(suites) > 0 {
		all = append(all, "--tls-cipher-suites="+strings.Join(suites, ","))
	}
	return all
}

// proxyMetadata are the environment variables of the proxy in both spellings, as
// programs differ in which they read. Nil without a proxy.
func (p Platform) proxyMetadata() map[string]any {
	metadata := map[string]any{}
	for name, value := range map[string]string{"HTTP_PROXY": p.HTTPProxy, "HTTPS_PROXY": p.HTTPSProxy, "NO_PROXY": p.NoProxy} {
		if value != "" {
			metadata[name], metadata[strings.ToLower(name)] = value, value
		}
	}
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}

func list(texts []string) []any {
	all := make([]any, 0, len(texts))
	for _, t := range texts {
		all = append(all, t)
	}
	return all
}
