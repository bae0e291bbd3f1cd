// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/istio"
)

// fromYAML is an object, nil for nothing.
func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestPlatformOf(t *testing.T) {
	intermediate := &TLSProfile{Ciphers: intermediateCiphers}
	cases := map[string]struct {
		reason                           string
		proxy, infrastructure, apiServer string
		want                             Platform
	}{
		"PlainKubernetes": {reason: "nothing asks for anything"},
		"Proxy": {
			reason: "what counts is the status",
			proxy:  `{spec: {httpProxy: "http://other"}, status: {httpProxy: "http://p:3128", httpsProxy: "http://p:3129", noProxy: ".cluster.local,10.0.0.0/16"}}`,
			want:   Platform{HTTPProxy: "http://p:3128", HTTPSProxy: "http://p:3129", NoProxy: ".cluster.local,10.0.0.0/16"},
		},
		"NoProxySet":     {reason: "an object without settings", proxy: `{spec: {}}`},
		"SingleNode":     {reason: "the nodes that run workloads count", infrastructure: `{status: {controlPlaneTopology: HighlyAvailable, infrastructureTopology: SingleReplica}}`, want: Platform{SingleReplica: true}},
		"SeveralNodes":   {reason: "of the control plane there may be one", infrastructure: `{status: {controlPlaneTopology: SingleReplica, infrastructureTopology: HighlyAvailable}}`},
		"DefaultProfile": {reason: "without a profile it is Intermediate", apiServer: `{spec: {}}`, want: Platform{TLS: intermediate}},
		"Intermediate":   {reason: "by name", apiServer: `{spec: {tlsSecurityProfile: {type: Intermediate}}}`, want: Platform{TLS: intermediate}},
		"Modern":         {reason: "TLS 1.3 has no ciphers to choose", apiServer: `{spec: {tlsSecurityProfile: {type: Modern}}}`, want: Platform{TLS: &TLSProfile{OnlyTLS13: true}}},
		"Custom": {
			reason:    "suites that Envoy does not know, of TLS 1.3, and repeated ones are left out",
			apiServer: `{spec: {tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS11, curves: [X25519], ciphers: [ECDHE-RSA-AES128-GCM-SHA256, DES-CBC3-SHA, TLS_AES_128_GCM_SHA256, AES128-SHA, AES128-SHA]}}}}`,
			want:      Platform{TLS: &TLSProfile{Ciphers: []string{"ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"}, Curves: []string{"X25519"}}},
		},
		"CustomTLS13": {
			reason:    "ciphers make no difference to TLS 1.3",
			apiServer: `{spec: {tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS13, ciphers: [ECDHE-RSA-AES128-GCM-SHA256]}}}}`,
			want:      Platform{TLS: &TLSProfile{OnlyTLS13: true}},
		},
		"Malformed": {reason: "fields of other types are as good as none", proxy: `{status: {httpProxy: 3}}`, infrastructure: `{status: []}`, apiServer: `{spec: {tlsSecurityProfile: {type: Custom, custom: {ciphers: x}}}}`, want: Platform{TLS: &TLSProfile{}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := PlatformOf(fromYAML(t, tc.proxy), fromYAML(t, tc.infrastructure), fromYAML(t, tc.apiServer))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What istiod would refuse keeps it from starting.
func TestCipherSuites_KnownToIstiod(t *testing.T) {
	for openSSL, name := range cipherSuites {
		if name != "" && !slices.ContainsFunc(tls.CipherSuites(), func(s *tls.CipherSuite) bool { return s.Name == name }) {
			t.Errorf("istiod does not offer %s (%s)", name, openSSL)
		}
	}
	for _, name := range envoyCiphers(oldCiphers) {
		if _, ok := cipherSuites[name]; !ok {
			t.Errorf("%s is in a profile and not known", name)
		}
	}
}

// meshOf is the mesh configuration that is rendered.
func meshOf(t *testing.T, in Input) map[string]any {
	t.Helper()
	text, _, _ := unstructured.NestedString(findObject(t, mustRender(t, in), "ConfigMap", "istio-openshift-gateway").Object, "data", "mesh")
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestRender_Platform(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			in := input(version)
			in.Platform = Platform{
				HTTPProxy: "http://p:1", NoProxy: "a,b", SingleReplica: true,
				TLS: &TLSProfile{Ciphers: []string{"ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"}, Curves: []string{"P-256"}},
			}
			config := meshOf(t, in)
			proxy, _, _ := unstructured.NestedMap(config, "defaultConfig", "proxyMetadata")
			if diff := cmp.Diff(map[string]any{"HTTP_PROXY": "http://p:1", "http_proxy": "http://p:1", "NO_PROXY": "a,b", "no_proxy": "a,b"}, proxy); diff != "" {
				t.Errorf("proxy of the gateways (-want +got):\n%s", diff)
			}
			ciphers := []any{"ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"}
			if diff := cmp.Diff(map[string]any{"minProtocolVersion": "TLSV1_2", "cipherSuites": ciphers}, config["meshMTLS"]); diff != "" {
				t.Errorf("meshMTLS (-want +got):\n%s", diff)
			}
			defaults := map[string]any{"minProtocolVersion": "TLSV1_2", "cipherSuites": ciphers, "ecdhCurves": []any{"P-256"}}
			if version == "1.28" {
				delete(defaults, "minProtocolVersion")
			}
			if diff := cmp.Diff(defaults, config["tlsDefaults"]); diff != "" {
				t.Errorf("tlsDefaults (-want +got):\n%s", diff)
			}
			arguments, _ := istiodContainer(t, mustRender(t, in))["args"].([]any)
			if !slices.Contains(arguments, any("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")) {
				t.Errorf("istiod's arguments are %v", arguments)
			}
			if slices.Contains(arguments, any("--tls-min-version=1.2")) != (version == "1.31") {
				t.Errorf("istiod's arguments are %v; only 1.31 knows --tls-min-version", arguments)
			}
			text, _, _ := unstructured.NestedString(findObject(t, mustRender(t, in), "ConfigMap", "istio-openshift-gateway-gatewayclass-openshift-default").Object, "data", "horizontalPodAutoscaler")
			if !strings.Contains(text, "minReplicas: 1") {
				t.Errorf("on one node gateways scale as %s", text)
			}
		})
	}
}

// Without the kinds of OpenShift nothing of it is set.
func TestRender_NoPlatform(t *testing.T) {
	config := meshOf(t, input("1.31"))
	for _, field := range []string{"meshMTLS", "tlsDefaults"} {
		if value, ok := config[field]; ok {
			t.Errorf("%s is set to %v", field, value)
		}
	}
	if _, found, _ := unstructured.NestedMap(config, "defaultConfig", "proxyMetadata"); found {
		t.Error("a proxy is set")
	}
}

// The public list is that of all versions together.
func TestIstioCRDs(t *testing.T) {
	var all []string
	for _, version := range istio.Minors() {
		all = append(all, managedCRDs(version)...)
	}
	slices.Sort(all)
	if diff := cmp.Diff(slices.Compact(all), istio.CRDNames()); diff != "" {
		t.Errorf("the public list of CRDs (-want +got):\n%s", diff)
	}
}
