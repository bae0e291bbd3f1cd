// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Labels by which users let pods take part where everything else is denied. Their value is
// allowed.
const (
	labelFromIngress  = "networking.kyma-project.io/from-ingressgateway"
	labelToEgress     = "networking.kyma-project.io/to-egressgateway"
	labelIstioMetrics = "networking.kyma-project.io/istio-metrics"
	labelScraping     = "networking.kyma-project.io/metrics-scraping"
)

const (
	policyPrefix  = "kyma-project.io--"
	policyManager = "allow-istio-controller-manager"
)

// Ports of what is installed.
const (
	portDNS, portXDS, portMetrics, portWebhook = 53, 15012, 15014, 15017
	portHTTP, portHTTPS                        = 8080, 8443
	portMerged, portHealth, portEnvoy          = 15020, 15021, 15090
	defaultAPIServerPort                       = 443
)

// policies let the mesh's own traffic through where a namespace denies everything else.
func policies(enabled bool, apiServerPort int32) []*unstructured.Unstructured {
	if !enabled {
		return nil
	}
	api := int64(apiServerPort)
	if api == 0 {
		api = defaultAPIServerPort
	}
	names := rule("to", nil, udpAndTCP(portDNS)...)
	server := rule("to", nil, tcp(api)...)
	istiod := rule("to", peers(pods(tree{"istio": "pilot"})), tcp(portXDS)...)
	scraped := func(ports ...int64) tree { return rule("from", scrapers(), tcp(ports...)...) }
	return []*unstructured.Unstructured{
		policy("istio-pilot", IstioNamespace, tree{"istio": "pilot"}, []any{
			rule("from", meshPods(), tcp(portXDS)...), scraped(portMetrics), rule("from", nil, tcp(portWebhook)...),
		}, []any{names, server}),
		// istiod fetches the keys of issuers, wherever these are.
		policy("istio-pilot-jwks", IstioNamespace, tree{"istio": "pilot"}, nil, []any{rule("to", nil, tcp(80, 443)...)}),
		// The health port is asked by load balancers, which have no labels.
		policy("istio-ingressgateway", IstioNamespace, tree{"istio": "ingressgateway"}, []any{
			rule("from", nil, tcp(portHTTP, portHTTPS, portHealth)...), scraped(portMerged, portEnvoy),
		}, []any{names, istiod}),
		policy("istio-ingressgateway-egress", IstioNamespace, tree{"istio": "ingressgateway"}, nil, []any{
			rule("to", peers(anywhere(tree{"matchLabels": tree{labelFromIngress: "allowed"}}), modules())),
		}),
		policy("istio-egressgateway", IstioNamespace, tree{"istio": "egressgateway"}, []any{
			rule("from", peers(anywhere(tree{"matchLabels": tree{labelToEgress: "allowed"}}))), scraped(portMerged, portHealth, portEnvoy),
		}, []any{tree{}}),
		policy("istio-cni-node", IstioNamespace, tree{"k8s-app": "istio-cni-node"}, nil, []any{names, server}),
		policy(policyManager, v1alpha2.Namespace, tree{v1alpha2.LabelModule: v1alpha2.ModuleName, "app.kubernetes.io/name": "istio-operator"}, []any{scraped(portHTTP)}, []any{names, server}),
	}
}

// policy is a network policy for the pods with labels. Without rules of a direction it says
// nothing about that.
func policy(name, namespace string, selects tree, ingress, egress []any) *unstructured.Unstructured {
	spec := tree{"podSelector": tree{"matchLabels": selects}}
	var kinds []any
	if ingress != nil {
		spec["ingress"] = ingress
		kinds = append(kinds, "Ingress")
	}
	if egress != nil {
		spec["egress"] = egress
		kinds = append(kinds, "Egress")
	}
	spec["policyTypes"] = kinds
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": tree{
			"name": policyPrefix + name, "namespace": namespace,
			"labels": tree{labelManagedBy: "kyma"},
		},
		"spec": spec,
	}}
}

// rule lets traffic of ports through, from or to peers; nil stands for all.
func rule(direction string, of []any, ports ...any) tree {
	r := tree{}
	if of != nil {
		r[direction] = of
	}
	if len(ports) > 0 {
		r["ports"] = ports
	}
	return r
}

func tcp(ports ...int64) []any {
	var all []any
	for _, port := range ports {
		all = append(all, tree{"protocol": "TCP", "port": port})
	}
	return all
}

func udpAndTCP(port int64) []any {
	return append([]any{tree{"protocol": "UDP", "port": port}}, tcp(port)...)
}

func peers(all ...tree) []any {
	var list []any
	for _, p := range all {
		list = append(list, p)
	}
	return list
}

// pods are those with labels in the policy's namespace.
func pods(labels tree) tree { return tree{"podSelector": tree{"matchLabels": labels}} }

// anywhere are the pods that a selector takes in any namespace.
func anywhere(selector tree) tree {
	return tree{"namespaceSelector": tree{}, "podSelector": selector}
}

// modules are the pods of Kyma's modules, which take in traces and logs.
func modules() tree {
	return tree{
		"namespaceSelector": tree{"matchLabels": tree{"kubernetes.io/metadata.name": v1alpha2.Namespace}},
		"podSelector":       isModule(),
	}
}

// isModule selects the pods of Kyma's modules.
func isModule() tree {
	return tree{"matchExpressions": []any{tree{"key": v1alpha2.LabelModule, "operator": "Exists"}}}
}

// meshPods are those that istiod configures: with a sidecar, gateways, and node proxies.
func meshPods() []any {
	return peers(
		anywhere(tree{"matchLabels": tree{"security.istio.io/tlsMode": "istio"}}),
		pods(tree{"istio": "ingressgateway"}), pods(tree{"istio": "egressgateway"}), pods(tree{"app": "ztunnel"}),
	)
}

// scrapers are the pods that collect metrics: Kyma's own, and those that opt in.
func scrapers() []any {
	return peers(
		anywhere(isModule()),
		anywhere(tree{"matchLabels": tree{labelIstioMetrics: "allowed"}}),
		anywhere(tree{"matchLabels": tree{labelScraping: "allowed"}}),
	)
}
