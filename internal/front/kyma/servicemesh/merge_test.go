// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// merged is the merged input for a spec.
func merged(t *testing.T, in Input) tree {
	t.Helper()
	operator, err := Merge(in.Istio, in.Settings, in.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

// value is what stands at a path with slashes; of a list, the entry of that name.
func value(root any, path string) any {
	for key := range strings.SplitSeq(path, "/") {
		switch at := root.(type) {
		case tree:
			root = at[key]
		case []any:
			root = nil
			for _, item := range at {
				if m, ok := item.(tree); ok && m["name"] == key {
					root = m
				}
			}
		default:
			return nil
		}
	}
	return root
}

func TestMerge_Golden(t *testing.T) {
	for _, size := range []Size{Production, Evaluation} {
		in := input(t, "")
		in.Cluster.Size = size
		data, err := yaml.Marshal(merged(t, in))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "input-"+strings.ToLower(string(size))+".yaml", string(data))
	}
}

// mergeFieldCase is a case of [TestMerge_Fields].
type mergeFieldCase struct {
	reason string
	spec   string
	want   map[string]any
}

const mergeFieldProxy = "spec/meshConfig/defaultConfig/"

const mergeFieldIngress = "spec/components/ingressGateways/istio-ingressgateway/k8s/"

const mergeFieldPilot = "spec/components/pilot/k8s/"

// mergeFieldCases are the cases of [TestMerge_Fields].
var mergeFieldCases = map[string]mergeFieldCase{
	"Nothing": {
		reason: "without a field nothing of it is set",
		spec:   "{}",
		want: map[string]any{
			mergeFieldProxy + "gatewayTopology": nil, mergeFieldProxy + "proxyMetadata/ISTIO_META_DNS_CAPTURE": nil, mergeFieldProxy + "proxyStatsMatcher": nil,
			mergeFieldIngress + "service": nil, "spec/meshConfig/trustDomain": "cluster.local", "spec/meshConfig/enablePrometheusMerge": false,
			"spec/components/egressGateways/istio-egressgateway/enabled": false, "spec/components/ztunnel/enabled": false,
		},
	},
	"TrustedProxies":     {reason: "also when it is zero", spec: "config: {numTrustedProxies: 0}", want: map[string]any{mergeFieldProxy + "gatewayTopology/numTrustedProxies": int64(0)}},
	"ManyTrustedProxies": {reason: "the largest that is allowed", spec: "config: {numTrustedProxies: 4294967295}", want: map[string]any{mergeFieldProxy + "gatewayTopology/numTrustedProxies": int64(4294967295)}},
	"ClientCert":         {spec: "config: {forwardClientCertDetails: APPEND_FORWARD}", want: map[string]any{mergeFieldProxy + "gatewayTopology/forwardClientCertDetails": "APPEND_FORWARD"}},
	"Authorizers": {
		reason: "all of them are appended, after the defaults; half a second stays that",
		spec: `config: {authorizers: [
              {name: first, service: auth/ext.auth.svc, port: 8000, timeout: 500ms, pathPrefix: /check,
               headers: {inCheck: {include: [x-a, x-b], add: {x-c: d}}, toUpstream: {onAllow: [x-u]}, toDownstream: {onAllow: [x-d], onDeny: [x-e]}}},
              {name: second, port: 9000, timeout: 2m}]}`,
		want: map[string]any{
			"spec/meshConfig/extensionProviders/kyma-traces/opentelemetry/port": int64(4317),
			"spec/meshConfig/extensionProviders/first/envoyExtAuthzHttp": tree{
				"service": "auth/ext.auth.svc", "port": int64(8000), "timeout": "0.5s", "pathPrefix": "/check",
				"includeRequestHeadersInCheck": []any{"x-a", "x-b"}, "includeAdditionalHeadersInCheck": tree{"x-c": "d"},
				"headersToUpstreamOnAllow": []any{"x-u"}, "headersToDownstreamOnAllow": []any{"x-d"}, "headersToDownstreamOnDeny": []any{"x-e"},
			},
			"spec/meshConfig/extensionProviders/second/envoyExtAuthzHttp": tree{"service": "", "port": int64(9000), "timeout": "120s"},
		},
	},
	"PrometheusMerge": {spec: "config: {telemetry: {metrics: {prometheusMerge: true}}}", want: map[string]any{"spec/meshConfig/enablePrometheusMerge": true}},
	"TrustDomain":     {spec: "config: {trustDomain: example.com}", want: map[string]any{"spec/meshConfig/trustDomain": "example.com"}},
	"DNSOn":           {spec: "config: {enableDNSProxying: true}", want: map[string]any{mergeFieldProxy + "proxyMetadata/ISTIO_META_DNS_CAPTURE": "true"}},
	"DNSOff":          {reason: "set to false it is written", spec: "config: {enableDNSProxying: false}", want: map[string]any{mergeFieldProxy + "proxyMetadata/ISTIO_META_DNS_CAPTURE": "false"}},
	"Stats":           {spec: "config: {proxyStatsMatcher: {inclusionRegexps: [b.*, a.*]}}", want: map[string]any{mergeFieldProxy + "proxyStatsMatcher/inclusionRegexps": []any{"b.*", "a.*"}}},
	"NoStats":         {reason: "an empty list is none", spec: "config: {proxyStatsMatcher: {inclusionRegexps: []}}", want: map[string]any{mergeFieldProxy + "proxyStatsMatcher": nil}},
	"TrafficPolicy":   {spec: "config: {gatewayExternalTrafficPolicy: Local}", want: map[string]any{mergeFieldIngress + "service/externalTrafficPolicy": "Local"}},
	"Resources": {
		reason: "each amount by itself, the others stay",
		spec:   "components: {pilot: {k8s: {resources: {limits: {cpu: 3000m}}}}}",
		want: map[string]any{
			mergeFieldPilot + "resources": tree{"limits": tree{"cpu": "3000m", "memory": "2Gi"}, "requests": tree{"cpu": "100m", "memory": "512Mi"}},
		},
	},
	"Scale": {
		reason: "bounds and strategy, each by itself",
		spec:   "components: {ingressGateway: {k8s: {hpaSpec: {maxReplicas: 20}, strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 2}}}}}",
		want: map[string]any{
			mergeFieldIngress + "hpaSpec":                tree{"minReplicas": int64(3), "maxReplicas": int64(20)},
			mergeFieldIngress + "strategy/rollingUpdate": tree{"maxSurge": "25%", "maxUnavailable": int64(2)},
		},
	},
	"NumberAsText": {
		reason: "Kubernetes takes text for a percentage only",
		spec:   `components: {ingressGateway: {k8s: {strategy: {rollingUpdate: {maxSurge: "3"}}}}}`,
		want:   map[string]any{mergeFieldIngress + "strategy/rollingUpdate/maxSurge": int64(3)},
	},
	"Egress": {
		spec: "components: {egressGateway: {enabled: true, k8s: {hpaSpec: {minReplicas: 4}}}}",
		want: map[string]any{
			"spec/components/egressGateways/istio-egressgateway/enabled":     true,
			"spec/components/egressGateways/istio-egressgateway/k8s/hpaSpec": tree{"minReplicas": int64(4), "maxReplicas": int64(15)},
		},
	},
	"Proxy": {
		spec: "components: {proxy: {k8s: {resources: {requests: {cpu: 30m, memory: 40Mi}}}}}",
		want: map[string]any{"spec/values/global/proxy/resources": tree{"requests": tree{"cpu": "30m", "memory": "40Mi"}, "limits": tree{"cpu": "1000m", "memory": "1024Mi"}}},
	},
	"CNI": {
		reason: "merged with the defaults, not put in their place",
		spec: `components: {cni: {k8s: {resources: {requests: {cpu: 20m}}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
              {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}}}`,
		want: map[string]any{
			"spec/components/cni/enabled":       true,
			"spec/components/cni/k8s/resources": tree{"requests": tree{"cpu": "20m", "memory": "512Mi"}, "limits": tree{"cpu": "500m", "memory": "1024Mi"}},
			"spec/components/cni/k8s/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution": tree{
				"nodeSelectorTerms": []any{tree{"matchExpressions": []any{tree{"key": "a", "operator": "Exists"}}}},
			},
		},
	},
	"Compatibility": {
		reason: "as Istio's own profile for the minor version before says",
		spec:   "compatibilityMode: true",
		want: map[string]any{
			mergeFieldPilot + "env/PILOT_ENABLE_STRICT_GATEWAY_MERGING/value": "false", mergeFieldPilot + "env/PILOT_HTTP10/value": "1",
		},
	},
	"Experimental": {
		spec: "experimental: {pilot: {enableAlphaGatewayAPI: true, enableMultiNetworkDiscoverGatewayAPI: true}, enableAmbient: true}",
		want: map[string]any{
			mergeFieldPilot + "env/PILOT_ENABLE_ALPHA_GATEWAY_API/value": "true", mergeFieldPilot + "env/PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API/value": "true",
			mergeFieldPilot + "env/PILOT_ENABLE_AMBIENT/value": "true", "spec/components/ztunnel/enabled": true, "spec/values/cni/ambient/enabled": true,
			mergeFieldProxy + "proxyMetadata/ISTIO_META_ENABLE_HBONE": "true",
		},
	},
}

// Every row of the table of fields: what a field of the resource becomes in the input.
func TestMerge_Fields(t *testing.T) {
	for name, tc := range mergeFieldCases {
		t.Run(name, func(t *testing.T) {
			in := input(t, tc.spec)
			before := in.Istio.DeepCopy()
			got := merged(t, in)
			for path, want := range tc.want {
				if diff := cmp.Diff(want, value(got, path)); diff != "" {
					t.Errorf("%s: %s\n%s", tc.reason, path, diff)
				}
			}
			if diff := cmp.Diff(before, in.Istio); diff != "" {
				t.Errorf("the resource was changed:\n%s", diff)
			}
		})
	}
}

func TestMerge_Cluster(t *testing.T) {
	const ingress = "spec/components/ingressGateways/istio-ingressgateway/k8s/"
	const aws = "service.beta.kubernetes.io/aws-load-balancer-"
	cases := map[string]struct {
		reason  string
		cluster Cluster
		want    map[string]any
		proxy   bool
	}{
		"Other": {reason: "no overrides", cluster: Cluster{Provider: ProviderOther}, want: map[string]any{ingress + "serviceAnnotations": nil, "spec/values/cni/cniBinDir": "/opt/cni/bin"}},
		"K3d":   {cluster: Cluster{Provider: ProviderK3d}, want: map[string]any{"spec/values/cni/cniBinDir": "/var/lib/rancher/k3s/data/cni", "spec/values/cni/cniConfDir": "/var/lib/rancher/k3s/agent/etc/cni/net.d"}},
		"GKE":   {cluster: Cluster{Provider: ProviderGKE}, want: map[string]any{"spec/values/cni/cniBinDir": "/home/kubernetes/bin", "spec/values/cni/resourceQuotas/enabled": true}},
		"AWS": {
			reason: "a network load balancer", cluster: Cluster{Provider: ProviderAWS},
			want: map[string]any{ingress + "serviceAnnotations": tree{aws + "type": "nlb", aws + "scheme": "internet-facing", aws + "nlb-target-type": "instance"}},
		},
		"AWSDualStack": {
			cluster: Cluster{Provider: ProviderAWS, DualStack: true}, proxy: true,
			want: map[string]any{
				ingress + "serviceAnnotations":                                   tree{aws + "type": "external", aws + "scheme": "internet-facing", aws + "nlb-target-type": "instance", aws + "proxy-protocol": "*"},
				ingress + "service":                                              tree{"ipFamilyPolicy": "RequireDualStack"},
				"spec/components/pilot/k8s/service/ipFamilyPolicy":               "RequireDualStack",
				"spec/components/pilot/k8s/env/ISTIO_DUAL_STACK/value":           "true",
				"spec/components/egressGateways/istio-egressgateway/k8s/service": tree{"ipFamilyPolicy": "RequireDualStack"},
				"spec/meshConfig/defaultConfig/proxyMetadata/ISTIO_DUAL_STACK":   "true",
			},
		},
		"AWSClassic": {
			cluster: Cluster{Provider: ProviderAWS, ELB: true}, proxy: true,
			want: map[string]any{ingress + "serviceAnnotations": tree{aws + "proxy-protocol": "*", aws + "connection-idle-timeout": "4000"}},
		},
		"OpenStack":       {cluster: Cluster{Provider: ProviderOpenStack}, proxy: true, want: map[string]any{ingress + "serviceAnnotations": nil}},
		"OpenStackGarden": {cluster: Cluster{Provider: ProviderOpenStack, GardenOS: true}, proxy: true, want: map[string]any{ingress + "serviceAnnotations": tree{"loadbalancer.openstack.org/proxy-protocol": "v1"}}},
		"NoCNI":           {cluster: Cluster{Features: Features{DisableCNI: true}}, want: map[string]any{"spec/components/cni/enabled": false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "")
			in.Cluster = tc.cluster
			got := merged(t, in)
			for path, want := range tc.want {
				if diff := cmp.Diff(want, value(got, path)); diff != "" {
					t.Errorf("%s: %s\n%s", tc.reason, path, diff)
				}
			}
			if tc.cluster.ProxyProtocol() != tc.proxy {
				t.Errorf("the proxy protocol is expected: %v, want %v", tc.cluster.ProxyProtocol(), tc.proxy)
			}
		})
	}
}

func TestMerge_Settings(t *testing.T) {
	in := input(t, "")
	in.Settings.PullSecret = "pull"
	got := merged(t, in)
	want := map[string]any{
		"spec/hub": "registry.istio.io/release", "spec/tag": "1.31.0-distroless",
		"spec/values/pilot/image": "registry.istio.io/release/pilot:1.31.0-distroless", "spec/values/cni/image": "registry.istio.io/release/install-cni:1.31.0-distroless",
		"spec/values/global/proxy/image": "registry.istio.io/release/proxyv2:1.31.0-distroless", "spec/values/global/proxy_init/image": "registry.istio.io/release/proxyv2:1.31.0-distroless",
		"spec/values/global/imagePullSecrets": []any{"pull"},
	}
	for path, w := range want {
		if diff := cmp.Diff(w, value(got, path)); diff != "" {
			t.Errorf("%s\n%s", path, diff)
		}
	}
}
