// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"maps"

	"github.com/strata-run/strata/internal/istio"
)

// values are what istiod's chart gets: an istiod for Gateway API and nothing
// else. The platform is not set: the one for OpenShift turns on its CNI plugin.
func values(in Input, d *decision) map[string]any {
	return map[string]any{
		"revision":               d.revision,
		"global":                 globalValues(d),
		"pilot":                  pilotValues(in, d),
		"meshConfig":             meshConfig(in.Platform, abilitiesOf(d.release)),
		"gatewayClasses":         classDefaults(d.names, in.Platform),
		"sidecarInjectorWebhook": map[string]any{"enableNamespacesByDefault": false},
	}
}

func globalValues(d *decision) map[string]any {
	global := map[string]any{
		"hub":               imageHub,
		"tag":               d.release.Version(),
		"istioNamespace":    Namespace,
		"priorityClassName": "system-cluster-critical",
		// Not Istio's own name for it, which a service mesh in the same cluster
		// writes into every namespace.
		"trustBundleName": CAConfigMap,
		// With the one replica that the autoscaler starts with, a budget would
		// block every drain.
		"defaultPodDisruptionBudget": map[string]any{"enabled": false},
	}
	if d.proxyImage != "" {
		global["proxy"] = map[string]any{"image": d.proxyImage}
		global["proxy_init"] = map[string]any{"image": d.proxyImage}
	}
	return global
}

func pilotValues(in Input, d *decision) map[string]any {
	annotations := map[string]any{"target.workload.openshift.io/management": `{"effect": "PreferredDuringScheduling"}`}
	if d.revision == IstioRevision {
		annotations[AnnotationTag] = tagName
	}
	pilot := map[string]any{
		"enabled":        true,
		"cni":            map[string]any{"enabled": false},
		"podAnnotations": annotations,
		"env":            pilotEnv(in, d.release),
	}
	if d.istiodImage != "" {
		pilot["image"] = d.istiodImage
	}
	if arguments := in.Platform.TLS.arguments(abilitiesOf(d.release)); len(arguments) > 0 {
		pilot["extraContainerArgs"] = arguments
	}
	return pilot
}

// pilotEnv restricts istiod to the Gateways of our classes. The GatewayClasses
// themselves are the users': istiod must not create its own.
func pilotEnv(in Input, r *istio.Release) map[string]any {
	env := map[string]any{
		"PILOT_ENABLE_GATEWAY_API":                         "true",
		"PILOT_ENABLE_ALPHA_GATEWAY_API":                   "false",
		"PILOT_ENABLE_GATEWAY_API_STATUS":                  "true",
		"PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER":   "true",
		"PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER": "false",
		"PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME":      DefaultClassName,
		"PILOT_GATEWAY_API_CONTROLLER_NAME":                ControllerName,
		"PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API":         "false",
		"ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT":             "false",
		// Only downstream builds of istiod know this one.
		"PILOT_ENABLE_GATEWAY_API_CA_CERT_ONLY":            "true",
		"PILOT_ENABLE_CA_CRL":                              "false",
		"PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS": "false",
	}
	filterResources(env, in, r)
	if in.InferencePools {
		env["ENABLE_GATEWAY_API_INFERENCE_EXTENSION"] = "true"
	}
	return env
}

func meshConfig(platform Platform, a abilities) map[string]any {
	proxy := map[string]any{
		"proxyHeaders": map[string]any{
			"server":                  map[string]any{"disabled": true},
			"envoyDebugHeaders":       map[string]any{"disabled": true},
			"metadataExchangeHeaders": map[string]any{"mode": "IN_MESH"},
		},
	}
	if metadata := platform.proxyMetadata(); metadata != nil {
		proxy["proxyMetadata"] = metadata
	}
	mesh := map[string]any{
		"accessLogFile":         "/dev/stdout",
		"ingressControllerMode": "OFF",
		"defaultConfig":         proxy,
	}
	platform.TLS.meshTLS(mesh, a)
	return mesh
}

// classDefaults are what istiod merges into the Deployment and the autoscaler of
// every Gateway of a class.
func classDefaults(names []string, platform Platform) map[string]any {
	replicas := 2
	if platform.SingleReplica {
		replicas = 1
	}
	defaults := map[string]any{
		"horizontalPodAutoscaler": map[string]any{
			"spec": map[string]any{"minReplicas": replicas, "maxReplicas": 10},
		},
		"deployment": map[string]any{
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{
					"name":                     "istio-proxy",
					"terminationMessagePolicy": "FallbackToLogsOnError",
				}},
			}}},
		},
	}
	all := make(map[string]any, len(names))
	for _, name := range names {
		all[name] = maps.Clone(defaults)
	}
	return all
}
