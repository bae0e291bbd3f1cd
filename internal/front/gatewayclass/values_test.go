// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// istiodContainer is the container of istiod's Deployment.
func istiodContainer(t *testing.T, packages []content.Package) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(findObject(t, packages, "Deployment", PackageControlPlane).Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("istiod has %d containers (%v), want 1", len(containers), err)
	}
	return containers[0].(map[string]any)
}

// env is the environment of istiod, as far as it has plain values.
func env(t *testing.T, packages []content.Package) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range istiodContainer(t, packages)["env"].([]any) {
		entry := e.(map[string]any)
		name := entry["name"].(string)
		if _, ok := all[name]; ok {
			t.Errorf("environment variable %s is set twice", name)
		}
		value, _ := entry["value"].(string)
		all[name] = value
	}
	return all
}

func TestValues_Environment(t *testing.T) {
	gatewayOnly := map[string]string{
		"REVISION":                                         "openshift-gateway",
		"PILOT_ENABLE_GATEWAY_API":                         "true",
		"PILOT_ENABLE_ALPHA_GATEWAY_API":                   "false",
		"PILOT_ENABLE_GATEWAY_API_STATUS":                  "true",
		"PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER":   "true",
		"PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER": "false",
		"PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME":      "openshift-default",
		"PILOT_GATEWAY_API_CONTROLLER_NAME":                "openshift.io/gateway-controller/v1",
		"PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API":         "false",
		"ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT":             "false",
		"PILOT_ENABLE_GATEWAY_API_CA_CERT_ONLY":            "true",
		"PILOT_ENABLE_CA_CRL":                              "false",
		"PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS": "false",
		"PILOT_CA_CERT_CONFIGMAP":                          "openshift-gw-ca-root-cert",
		"PLATFORM":                                         "",
	}
	cases := map[string]struct {
		reason string
		input  func(*Input)
		want   map[string]string
		absent []string
	}{
		"1.28": {reason: "istiod 1.28 does not read PILOT_IGNORE_RESOURCES", absent: []string{"PILOT_IGNORE_RESOURCES", "PILOT_INCLUDE_RESOURCES", "ENABLE_GATEWAY_API_INFERENCE_EXTENSION"}},
		"1.29": {reason: "from 1.29 on ListenerSets are left alone, and what only users of a mesh need", want: map[string]string{
			"PILOT_IGNORE_RESOURCES":  "*.istio.io,listenersets.gateway.networking.k8s.io",
			"PILOT_INCLUDE_RESOURCES": "destinationrules.networking.istio.io,envoyfilters.networking.istio.io,wasmplugins.extensions.istio.io",
		}, absent: []string{"ENABLE_GATEWAY_API_INFERENCE_EXTENSION"}},
		"1.31": {reason: "InferencePools are served when their CRD is there", input: func(in *Input) { in.InferencePools, in.Resources = true, []string{AllResources} }, absent: []string{"PILOT_INCLUDE_RESOURCES"},
			want: map[string]string{"PILOT_IGNORE_RESOURCES": "listenersets.gateway.networking.k8s.io", "ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true"}},
	}
	for version, tc := range cases {
		t.Run(version, func(t *testing.T) {
			in := input(version)
			if tc.input != nil {
				tc.input(&in)
			}
			got := env(t, mustRender(t, in))
			for _, want := range []map[string]string{gatewayOnly, tc.want} {
				for name, value := range want {
					if v, ok := got[name]; !ok || v != value {
						t.Errorf("%s: %s is %q (set: %t), want %q", tc.reason, name, v, ok, value)
					}
				}
			}
			for _, name := range tc.absent {
				if v, ok := got[name]; ok {
					t.Errorf("%s: %s is set, to %q", tc.reason, name, v)
				}
			}
		})
	}
}

func TestValues_Mesh(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			text, _, _ := unstructured.NestedString(findObject(t, mustRender(t, input(version)), "ConfigMap", "istio-openshift-gateway").Object, "data", "mesh")
			var got map[string]any
			if err := yaml.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"accessLogFile":         "/dev/stdout",
				"enablePrometheusMerge": true,
				"ingressControllerMode": "OFF",
				"rootNamespace":         "openshift-ingress",
				"trustDomain":           "cluster.local",
				"defaultProviders":      map[string]any{"metrics": []any{"prometheus"}},
				"defaultConfig": map[string]any{
					"discoveryAddress": "istiod-openshift-gateway.openshift-ingress.svc:15012",
					"proxyHeaders": map[string]any{
						"server":                  map[string]any{"disabled": true},
						"envoyDebugHeaders":       map[string]any{"disabled": true},
						"metadataExchangeHeaders": map[string]any{"mode": "IN_MESH"},
					},
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("mesh configuration:\n%s", diff)
			}
		})
	}
}

func TestValues_Deployment(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			packages := mustRender(t, input(version))
			deployment := findObject(t, packages, "Deployment", "istiod-openshift-gateway").Object
			get := func(path ...string) any {
				value, _, err := unstructured.NestedFieldNoCopy(deployment, path...)
				if err != nil {
					t.Fatal(err)
				}
				return value
			}
			if got := get("spec", "template", "spec", "priorityClassName"); got != "system-cluster-critical" {
				t.Errorf("priority class is %v", got)
			}
			if got := get("spec", "template", "metadata", "annotations", "target.workload.openshift.io/management"); got != `{"effect": "PreferredDuringScheduling"}` {
				t.Errorf("workload annotation is %v", got)
			}
			if got := get("spec", "replicas"); got != nil {
				t.Errorf("replicas is %v, but is the autoscaler's", got)
			}
			hpa := findObject(t, packages, "HorizontalPodAutoscaler", "istiod-openshift-gateway")
			if low, high := hpa.Object["spec"].(map[string]any)["minReplicas"], hpa.Object["spec"].(map[string]any)["maxReplicas"]; low != int64(1) || high != int64(5) {
				t.Errorf("istiod has %v to %v replicas, want 1 to 5", low, high)
			}
			volumes, _, _ := unstructured.NestedSlice(deployment, "spec", "template", "spec", "volumes")
			if raw, _ := json.Marshal(volumes); !strings.Contains(string(raw), `"name":"openshift-gw-ca-root-cert"`) {
				t.Errorf("no volume from the CA ConfigMap: %s", raw)
			}
			merged, _, _ := unstructured.NestedString(findObject(t, packages, "ConfigMap", "values-openshift-gateway").Object, "data", "merged-values")
			var values struct {
				CNI struct {
					Enabled bool `json:"enabled"`
				} `json:"cni"`
				SidecarInjectorWebhook struct {
					EnableNamespacesByDefault bool `json:"enableNamespacesByDefault"`
				} `json:"sidecarInjectorWebhook"`
				Global struct {
					Platform string `json:"platform"`
				} `json:"global"`
			}
			if err := json.Unmarshal([]byte(merged), &values); err != nil {
				t.Fatal(err)
			}
			if values.CNI.Enabled || values.SidecarInjectorWebhook.EnableNamespacesByDefault || values.Global.Platform != "" {
				t.Errorf("want no CNI plugin, no injection by default and no platform; got %+v", values)
			}
		})
	}
}

// gatewayImages are what istiod makes the image references of proxies from.
type gatewayImages struct {
	Hub       string       `json:"hub"`
	Tag       string       `json:"tag"`
	Proxy     gatewayImage `json:"proxy"`
	ProxyInit gatewayImage `json:"proxy_init"`
}

type gatewayImage struct {
	Image string `json:"image"`
}

func imagesOfGateways(t *testing.T, packages []content.Package) gatewayImages {
	t.Helper()
	injector := findObject(t, packages, "ConfigMap", "istio-sidecar-injector-openshift-gateway")
	text, _, _ := unstructured.NestedString(injector.Object, "data", "values")
	var values struct {
		Global gatewayImages `json:"global"`
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values.Global
}

// literalImage is an image in a template of the sidecar injector that comes from
// no value.
var literalImage = regexp.MustCompile(`(?m)^\s*(?:- )?image: *"?([^"{\s]+)`)

func TestValues_Images(t *testing.T) {
	for i, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			packages := mustRender(t, input(version))
			app := istio.Releases()[i].Version()
			if got, want := istiodContainer(t, packages)["image"], "registry.istio.io/release/pilot:"+app; got != want {
				t.Errorf("istiod runs %v, want %s", got, want)
			}
			injector := findObject(t, packages, "ConfigMap", "istio-sidecar-injector-openshift-gateway")
			want := gatewayImages{Hub: "registry.istio.io/release", Tag: app}
			want.Proxy.Image, want.ProxyInit.Image = "proxyv2", "proxyv2"
			if diff := cmp.Diff(want, imagesOfGateways(t, packages)); diff != "" {
				t.Errorf("images of gateways:\n%s", diff)
			}
			config, _, _ := unstructured.NestedString(injector.Object, "data", "config")
			for _, m := range literalImage.FindAllStringSubmatch(config, -1) {
				// Of the template grpc-simple, a demonstration of the chart's
				// that a pod must ask for by name.
				if m[1] != "busybox:1.28" {
					t.Errorf("a template has the image %s", m[1])
				}
			}
			each(packages, func(o *unstructured.Unstructured) {
				for _, bad := range []string{":latest", "istio-testing", "istio.io/testing", "docker.io", `\"tag\": \"latest\"`} {
					if strings.Contains(string(canonical(t, o)), bad) {
						t.Errorf("%s %s contains %s", o.GetKind(), o.GetName(), bad)
					}
				}
			})
		})
	}
}
