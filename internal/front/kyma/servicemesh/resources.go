// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// labelManagedBy is on network policies, besides that of the module.
const labelManagedBy = "kyma-project.io/managed-by"

// resources are the objects that belong to the mesh and come from no chart, by their phase.
// Each part says by itself what is due: nothing of a part that is off.
func resources(in Input, operator tree) (map[string][]*unstructured.Unstructured, error) {
	all := map[string][]*unstructured.Unstructured{
		PhasePolicies:  policies(in.Istio.Spec.NetworkPoliciesEnabled, in.Cluster.APIServerPort),
		PhaseResources: {peerAuthentication()},
	}
	if in.Cluster.ProxyProtocol() {
		filter := proxyProtocol()
		if in.Cluster.FilterUpdatedAt != "" {
			put(filter.Object, in.Cluster.FilterUpdatedAt, "metadata", "annotations", v1alpha2.AnnotationUpdatedAt)
		}
		all[PhaseResources] = append(all[PhaseResources], filter)
	}
	if in.Cluster.VPA && in.Cluster.Features.EnableControlPlaneVPA {
		all[PhaseResources] = append(all[PhaseResources], autoscalers(operator)...)
	}
	for _, objects := range all {
		for _, o := range objects {
			put(o.Object, in.Settings.Images.Tag, "metadata", "labels", "app.kubernetes.io/version")
			if err := mark(o); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// peerAuthentication lets nothing but mutual TLS into the mesh. Its labels are those that Kyma's
// operator gives it, for users who select by them.
func peerAuthentication() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
		"metadata": tree{"name": "default", "namespace": IstioNamespace, "labels": tree{
			"app.kubernetes.io/name": "istio-operator", "app.kubernetes.io/instance": "istio-operator-default",
			"app.kubernetes.io/component": "operator", "app.kubernetes.io/part-of": "istio",
		}},
		"spec": tree{"mtls": tree{"mode": "STRICT"}},
	}}
}

// proxyProtocol lets the ingress gateway read the client's address from the first bytes that
// the load balancer sends.
func proxyProtocol() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter",
		"metadata": tree{"name": "proxy-protocol", "namespace": IstioNamespace},
		"spec": tree{
			"workloadSelector": tree{"labels": tree{"istio": "ingressgateway"}},
			"configPatches": []any{tree{
				"applyTo": "LISTENER_FILTER",
				"match":   tree{"context": "GATEWAY"},
				"patch": tree{
					// Before any filter that looks at the bytes of the client itself.
					"operation": "INSERT_FIRST",
					"value": tree{
						"name": "envoy.filters.listener.proxy_protocol",
						"typed_config": tree{
							"@type": "type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol",
						},
					},
				},
			}},
		},
	}}
}

// Dependent is an object of [PackageIstio] that the Istio resource itself is to own, too.
type Dependent struct {
	schema.GroupVersionKind

	Key types.NamespacedName
}

// Dependents are the objects that stand in the namespace of a resource and are none of Istio's.
// Of those in other namespaces it cannot be an owner.
func Dependents(istio *v1alpha2.Istio) []Dependent {
	if !istio.Spec.NetworkPoliciesEnabled {
		return nil
	}
	return []Dependent{{
		GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		Key:              types.NamespacedName{Namespace: v1alpha2.Namespace, Name: policyPrefix + policyManager},
	}}
}

// FilterDigest tells versions of the EnvoyFilter for the proxy protocol apart. Empty where
// the cluster has none.
func FilterDigest(c Cluster) string {
	if !c.ProxyProtocol() {
		return ""
	}
	data, err := json.Marshal(proxyProtocol().Object)
	if err != nil {
		return "" // maps of text can be encoded
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// autoscalers scale the memory of what is installed.
func autoscalers(operator tree) []*unstructured.Unstructured {
	spec := at(operator, "spec")
	all := []struct {
		kind, name, least string
		settings          tree
	}{
		{"Deployment", "istiod", "512Mi", at(spec, "components", "pilot")},
		{"Deployment", IngressGateway, "128Mi", entry(spec, IngressGateway, "components", "ingressGateways")},
		{"Deployment", EgressGateway, "128Mi", entry(spec, EgressGateway, "components", "egressGateways")},
		{"DaemonSet", "istio-cni-node", "512Mi", at(spec, "components", "cni")},
	}
	var on []*unstructured.Unstructured
	for _, a := range all {
		if enabled, _ := a.settings["enabled"].(bool); !enabled {
			continue
		}
		on = append(on, &unstructured.Unstructured{Object: tree{
			"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
			"metadata": tree{"name": a.name + "-vpa", "namespace": IstioNamespace},
			"spec": tree{
				"targetRef":    tree{"apiVersion": "apps/v1", "kind": a.kind, "name": a.name},
				"updatePolicy": tree{"updateMode": "InPlaceOrRecreate", "minReplicas": int64(1)},
				"resourcePolicy": tree{"containerPolicies": []any{tree{
					"containerName": "*", "controlledResources": []any{"memory"},
					"minAllowed": tree{"memory": a.least}, "maxAllowed": tree{"memory": "16Gi"},
				}}},
			},
		}})
	}
	return on
}
