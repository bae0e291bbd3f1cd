// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

const (
	labelPolicyOwner    = "istiocsr.operator.openshift.io/owned-by"
	defaultAPIPort      = 6443
	defaultMonitoring   = "openshift-user-workload-monitoring"
	labelNamespaceName  = "kubernetes.io/metadata.name"
	policyDenyAll       = "istio-csr-deny-all"
	policyToAPIServer   = "istio-csr-allow-egress-to-api-server"
	policyToDNS         = "istio-csr-allow-egress-to-dns"
	policyFromMonitor   = "istio-csr-allow-ingress-to-metrics"
	policyFromWorkloads = "istio-csr-allow-ingress-to-grpc"
)

// networkPolicies deny all that the agent does not need: it asks the API server, and is
// asked by the mesh and for metrics.
func (o objects) networkPolicies() []*unstructured.Unstructured {
	config := policyConfig(o.IstioCSR)
	if config.Mode == operatorv1alpha1.NetworkPolicyNone {
		return nil
	}
	apiPorts := slices.Sorted(slices.Values(config.APIServerPorts))
	if len(apiPorts) == 0 {
		apiPorts = o.Facts.APIServerPorts
	}
	if len(apiPorts) == 0 {
		apiPorts = []int32{defaultAPIPort}
	}
	toAPIServer := make([]any, 0, len(apiPorts))
	for _, number := range apiPorts {
		toAPIServer = append(toAPIServer, policyPort("TCP", int64(number)))
	}
	monitoring := map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{
		labelNamespaceName: cmp.Or(config.MonitoringNamespace, defaultMonitoring),
	}}}
	policies := []*unstructured.Unstructured{
		o.policy(policyDenyAll, nil, "Ingress", "Egress"),
		o.policy(policyToAPIServer, map[string]any{"egress": []any{map[string]any{"ports": toAPIServer}}}, "Egress"),
		o.policy(policyFromMonitor, map[string]any{"ingress": []any{map[string]any{"from": []any{monitoring}, "ports": []any{policyPort("TCP", metricsPort)}}}}, "Ingress"),
		o.policy(policyFromWorkloads, map[string]any{"ingress": []any{map[string]any{"ports": []any{policyPort("TCP", servingPort)}}}}, "Ingress"),
	}
	if config.DNS {
		ports := []any{policyPort("UDP", 53), policyPort("TCP", 53)}
		policies = append(policies, o.policy(policyToDNS, map[string]any{"egress": []any{map[string]any{"ports": ports}}}, "Egress"))
	}
	return policies
}

func policyConfig(ic *operatorv1alpha1.IstioCSR) operatorv1alpha1.NetworkPolicy {
	if agent := ic.Spec.AgentConfig; agent != nil && agent.NetworkPolicy != nil {
		return *agent.NetworkPolicy
	}
	return operatorv1alpha1.NetworkPolicy{}
}

// AsksForAPIServerPorts says whether the ports of the API server have to be found out.
func AsksForAPIServerPorts(ic *operatorv1alpha1.IstioCSR) bool {
	config := policyConfig(ic)
	return config.Mode != operatorv1alpha1.NetworkPolicyNone && len(config.APIServerPorts) == 0
}

// PortsOf are the TCP ports of an EndpointSlice, sorted.
func PortsOf(endpoints *unstructured.Unstructured) []int32 {
	return portsIn(endpoints.Object["ports"])
}

// APIServerPortsIn are the ports of the API server in the policy of a revision, none when it
// has none.
func APIServerPortsIn(manifests []*unstructured.Unstructured) []int32 {
	for _, manifest := range manifests {
		if manifest.GetKind() != "NetworkPolicy" || manifest.GetName() != policyToAPIServer {
			continue
		}
		rules, _, err := unstructured.NestedSlice(manifest.Object, "spec", "egress")
		if err != nil || len(rules) != 1 {
			return nil // it is not one of ours
		}
		rule, _ := rules[0].(map[string]any)
		return portsIn(rule["ports"])
	}
	return nil
}

// portsIn are the numbers of a list of ports with protocols.
func portsIn(list any) []int32 {
	entries, _ := list.([]any)
	var ports []int32
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		number, _ := fields["port"].(int64)
		if protocol := fields["protocol"]; number < 1 || number > 65535 || protocol != nil && protocol != "TCP" {
			continue
		}
		ports = append(ports, int32(number))
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

func (o objects) policy(name string, rules map[string]any, types ...string) *unstructured.Unstructured {
	u := o.object("networking.k8s.io/v1", "NetworkPolicy", o.namespace, name)
	setLabel(u, labelPolicyOwner, "istio-csr")
	spec := map[string]any{"podSelector": map[string]any{"matchLabels": selector()}}
	maps.Copy(spec, rules)
	list := make([]any, 0, len(types))
	for _, kind := range types {
		list = append(list, kind)
	}
	spec["policyTypes"] = list
	return with(u, "spec", spec)
}

func setLabel(u *unstructured.Unstructured, key, value string) {
	labels := u.GetLabels()
	labels[key] = value
	u.SetLabels(labels)
}

// setLabels puts labels of the user's on an object that has ours already.
func setLabels(u *unstructured.Unstructured, labels map[string]string) {
	for key, value := range labels {
		if !isReserved(key) {
			setLabel(u, key, value)
		}
	}
}

func policyPort(protocol string, number int64) map[string]any {
	return map[string]any{"protocol": protocol, "port": number}
}
