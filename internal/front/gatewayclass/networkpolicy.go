// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// istiodPorts are what istiod serves on: debugging, xDS (plain, legacy and with
// TLS), metrics, and webhooks.
var istiodPorts = []int64{8080, 15010, 15011, 15012, 15014, 15017}

// istiodPolicy lets istiod be reached where the namespace denies by default:
// gateways run in every namespace and the API server has no fixed address, so
// only the ports are limited. The chart's own policy is off by default and
// missing from older versions.
func istiodPolicy() *unstructured.Unstructured {
	ports := make([]any, 0, len(istiodPorts))
	for _, port := range istiodPorts {
		ports = append(ports, map[string]any{"protocol": "TCP", "port": port})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "NetworkPolicy",
		"metadata": map[string]any{
			"name":      NetworkPolicyName,
			"namespace": Namespace,
			"labels":    map[string]any{"app": "istiod", "istio.io/rev": IstioRevision},
		},
		"spec": map[string]any{
			"podSelector": map[string]any{"matchLabels": map[string]any{"app": "istiod"}},
			"policyTypes": []any{"Ingress", "Egress"},
			"ingress":     []any{map[string]any{"ports": ports}},
			"egress":      []any{map[string]any{}},
		},
	}}
}

// gatewaysPolicy lets the gateways of the namespace be reached on any port, which their
// listeners say, and reach any backend.
func gatewaysPolicy() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "NetworkPolicy",
		"metadata": map[string]any{
			"name":      GatewaysPolicyName,
			"namespace": Namespace,
			"labels":    map[string]any{"istio.io/rev": IstioRevision},
		},
		"spec": map[string]any{
			"podSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": LabelGatewayName, "operator": "Exists"}}},
			"policyTypes": []any{"Ingress", "Egress"},
			"ingress":     []any{map[string]any{}},
			"egress":      []any{map[string]any{}},
		},
	}}
}
