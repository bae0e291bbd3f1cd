// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// defaults are what an Istio resource is laid over.
//
//go:embed defaults/*.yaml
var defaults embed.FS

// base are the defaults for a size, as a copy.
func base(size Size) (tree, error) {
	merged := tree{}
	files := []string{"defaults/production.yaml"}
	if size == Evaluation {
		files = append(files, "defaults/evaluation.yaml")
	}
	for _, file := range files {
		data, err := fs.ReadFile(defaults, file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		layer := map[string]any{}
		if err := yaml.Unmarshal(data, &layer); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		merged = overlay(merged, layer)
	}
	// With the numbers as everything else has them.
	return treeOf(merged)
}

// Merge gives what is installed for an Istio resource, in the shape of Istio's
// IstioOperator: the defaults for the cluster's size, under the switches of the resource,
// the images of the manager, and what the cluster's infrastructure needs. It is pure, and
// the same input gives the same document.
func Merge(istio *v1alpha2.Istio, settings Settings, cluster Cluster) (map[string]any, error) {
	operator, err := base(cluster.Size)
	if err != nil {
		return nil, err
	}
	spec := at(operator, "spec")
	mergeExperimental(spec, istio.Spec.Experimental)
	mergeConfig(spec, &istio.Spec.Config)
	if err := mergeComponents(spec, istio.Spec.Components); err != nil {
		return nil, err
	}
	if istio.Spec.CompatibilityMode {
		env, err := compatibility(settings)
		if err != nil {
			return nil, err
		}
		pilotEnv(spec, env)
	}
	mergeSettings(spec, settings)
	mergeCluster(spec, cluster)
	return operator, nil
}

// mergeExperimental turns on what may change.
func mergeExperimental(spec tree, e *v1alpha2.Experimental) {
	if e == nil {
		return
	}
	env := map[string]string{}
	if e.Pilot.EnableAlphaGatewayAPI {
		env["PILOT_ENABLE_ALPHA_GATEWAY_API"] = "true"
	}
	if e.Pilot.EnableMultiNetworkDiscoverGatewayAPI {
		env["PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API"] = "true"
	}
	if e.EnableAmbient != nil && *e.EnableAmbient {
		env["PILOT_ENABLE_AMBIENT"] = "true"
		put(spec, true, "components", "ztunnel", "enabled")
		put(spec, true, "values", "cni", "ambient", "enabled")
		put(spec, "true", "meshConfig", "defaultConfig", "proxyMetadata", "ISTIO_META_ENABLE_HBONE")
	}
	pilotEnv(spec, env)
}

// pilotEnv sets variables of istiod, in the order of their names.
func pilotEnv(spec tree, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		entry(spec, name, "components", "pilot", "k8s", "env")["value"] = env[name]
	}
}

// compatibility are the variables that make istiod behave like its previous minor version.
// Istio keeps them in a profile.
func compatibility(settings Settings) (map[string]string, error) {
	v, err := parseTag(settings.Release.Version())
	if err != nil {
		return nil, err
	}
	file := fmt.Sprintf("charts/istio-control/istio-discovery/files/profile-compatibility-version-%d.%d.yaml", v.major, v.minor-1)
	data, err := settings.Release.File(file)
	if err != nil {
		return nil, err
	}
	profile := struct {
		Pilot struct {
			Env map[string]string `json:"env"`
		} `json:"pilot"`
	}{}
	if err := yaml.Unmarshal(data, &profile); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return profile.Pilot.Env, nil
}

// mergeConfig lays spec.config over the mesh configuration.
func mergeConfig(spec tree, c *v1alpha2.Config) {
	mesh := at(spec, "meshConfig")
	proxy := at(mesh, "defaultConfig")
	if c.NumTrustedProxies != nil {
		put(proxy, int64(*c.NumTrustedProxies), "gatewayTopology", "numTrustedProxies")
	}
	if c.ForwardClientCertDetails != nil {
		put(proxy, string(*c.ForwardClientCertDetails), "gatewayTopology", "forwardClientCertDetails")
	}
	if len(c.Authorizers) > 0 {
		providers, _ := mesh["extensionProviders"].([]any)
		for _, a := range c.Authorizers {
			providers = append(providers, authorizer(a))
		}
		mesh["extensionProviders"] = providers
	}
	mesh["enablePrometheusMerge"] = c.Telemetry.Metrics.PrometheusMerge
	if c.TrustDomain != nil {
		mesh["trustDomain"] = *c.TrustDomain
	}
	if c.EnableDNSProxying != nil {
		put(proxy, fmt.Sprint(*c.EnableDNSProxying), "proxyMetadata", "ISTIO_META_DNS_CAPTURE")
	}
	if c.ProxyStatsMatcher != nil && len(c.ProxyStatsMatcher.InclusionRegexps) > 0 {
		put(proxy, texts(c.ProxyStatsMatcher.InclusionRegexps), "proxyStatsMatcher", "inclusionRegexps")
	}
	if c.GatewayExternalTrafficPolicy != nil {
		gateway := entry(spec, IngressGateway, "components", "ingressGateways")
		put(gateway, *c.GatewayExternalTrafficPolicy, "k8s", "service", "externalTrafficPolicy")
	}
}

// authorizer is an extension provider of the mesh configuration.
func authorizer(a *v1alpha2.Authorizer) tree {
	http := tree{"service": a.Service, "port": int64(a.Port)}
	if a.PathPrefix != nil {
		http["pathPrefix"] = *a.PathPrefix
	}
	if a.Timeout != nil {
		http["timeout"] = seconds(a)
	}
	if a.Headers != nil {
		headers(http, a.Headers)
	}
	return tree{"name": a.Name, "envoyExtAuthzHttp": http}
}

// headers says which headers go where.
func headers(http tree, h *v1alpha2.Headers) {
	if h.InCheck != nil {
		list(http, "includeRequestHeadersInCheck", h.InCheck.Include)
		for name, value := range h.InCheck.Add {
			put(http, value, "includeAdditionalHeadersInCheck", name)
		}
	}
	if h.ToUpstream != nil {
		list(http, "headersToUpstreamOnAllow", h.ToUpstream.OnAllow)
	}
	if h.ToDownstream != nil {
		list(http, "headersToDownstreamOnAllow", h.ToDownstream.OnAllow)
		list(http, "headersToDownstreamOnDeny", h.ToDownstream.OnDeny)
	}
}

// seconds is a timeout as protobuf writes it in JSON: in seconds, with their fractions.
func seconds(a *v1alpha2.Authorizer) string {
	text := fmt.Sprintf("%d.%09d", a.Timeout.Nanoseconds()/1e9, a.Timeout.Nanoseconds()%1e9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

// list sets a list that is not empty.
func list(t tree, key string, values []string) {
	if len(values) > 0 {
		t[key] = texts(values)
	}
}

func texts(values []string) []any {
	all := make([]any, 0, len(values))
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// mergeSettings sets what the manager decides: images, and how they are pulled.
func mergeSettings(spec tree, s Settings) {
	spec["hub"], spec["tag"] = s.Images.Hub, s.Images.Tag
	values := at(spec, "values")
	put(values, s.Images.Pilot, "pilot", "image")
	put(values, s.Images.CNI, "cni", "image")
	put(values, s.Images.Proxy, "global", "proxy", "image")
	put(values, s.Images.Proxy, "global", "proxy_init", "image")
	if s.Images.Ztunnel != "" {
		put(values, s.Images.Ztunnel, "ztunnel", "image")
	}
	if s.PullSecret != "" {
		secrets, _, _ := unstructured.NestedStringSlice(values, "global", "imagePullSecrets")
		if !slices.Contains(secrets, s.PullSecret) {
			secrets = append(secrets, s.PullSecret)
		}
		put(values, texts(secrets), "global", "imagePullSecrets")
	}
}
