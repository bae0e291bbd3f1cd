// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"
	"strconv"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// mergeComponents lays spec.components over the components.
func mergeComponents(spec tree, c *v1alpha2.Components) error {
	if c == nil {
		return nil
	}
	components := at(spec, "components")
	if c.Pilot != nil {
		mergeK8s(at(components, "pilot", "k8s"), c.Pilot.K8s)
	}
	if c.IngressGateway != nil {
		mergeK8s(at(entry(components, IngressGateway, "ingressGateways"), "k8s"), c.IngressGateway.K8s)
	}
	if c.EgressGateway != nil {
		gateway := entry(components, EgressGateway, "egressGateways")
		mergeK8s(at(gateway, "k8s"), c.EgressGateway.K8s)
		if c.EgressGateway.Enabled != nil {
			gateway["enabled"] = *c.EgressGateway.Enabled
		}
	}
	if c.Proxy != nil && c.Proxy.K8s != nil {
		mergeResources(at(spec, "values", "global", "proxy"), c.Proxy.K8s.Resources)
	}
	if c.CNI != nil && c.CNI.K8s != nil {
		return mergeCNI(at(components, "cni", "k8s"), c.CNI.K8s)
	}
	return nil
}

// mergeK8s lays the settings of a Deployment over the defaults, each by itself.
func mergeK8s(k8s tree, c *v1alpha2.KubernetesResourcesConfig) {
	if c == nil {
		return
	}
	mergeResources(k8s, c.Resources)
	if c.HPASpec != nil {
		hpa := at(k8s, "hpaSpec")
		if c.HPASpec.MinReplicas != nil {
			hpa["minReplicas"] = int64(*c.HPASpec.MinReplicas)
		}
		if c.HPASpec.MaxReplicas != nil {
			hpa["maxReplicas"] = int64(*c.HPASpec.MaxReplicas)
		}
	}
	if c.Strategy != nil && c.Strategy.RollingUpdate != nil {
		update := at(k8s, "strategy", "rollingUpdate")
		if surge := c.Strategy.RollingUpdate.MaxSurge; surge != nil {
			update["maxSurge"] = countOrPercent(surge.String())
		}
		if unavailable := c.Strategy.RollingUpdate.MaxUnavailable; unavailable != nil {
			update["maxUnavailable"] = countOrPercent(unavailable.String())
		}
	}
}

// countOrPercent is a number where the text is one: as text, only percentages are allowed.
func countOrPercent(text string) any {
	if number, err := strconv.ParseInt(text, 10, 32); err == nil {
		return number
	}
	return text
}

// mergeResources lays amounts over the defaults, each by itself.
func mergeResources(k8s tree, r *v1alpha2.Resources) {
	if r == nil {
		return
	}
	for kind, claims := range map[string]*v1alpha2.ResourceClaims{"limits": r.Limits, "requests": r.Requests} {
		if claims == nil {
			continue
		}
		if claims.CPU != nil {
			put(k8s, *claims.CPU, "resources", kind, "cpu")
		}
		if claims.Memory != nil {
			put(k8s, *claims.Memory, "resources", kind, "memory")
		}
	}
}

// mergeCNI lays the settings of the node agent over the defaults; each of the three kinds of
// affinity takes the place of the default's.
func mergeCNI(k8s tree, c *v1alpha2.CNIK8sConfig) error {
	mergeResources(k8s, c.Resources)
	if c.Affinity == nil {
		return nil
	}
	affinity, err := treeOf(c.Affinity)
	if err != nil {
		return fmt.Errorf("reading spec.components.cni.k8s.affinity: %w", err)
	}
	for kind, rules := range affinity {
		put(k8s, rules, "affinity", kind)
	}
	return nil
}

// Annotations that AWS and OpenStack read on a Service, and values of them.
const (
	awsNetwork                   = "nlb"
	awsExternal                  = "external"
	awsPrefix                    = "service.beta.kubernetes.io/aws-load-balancer-"
	annotationOpenStackProxy     = "loadbalancer.openstack.org/proxy-protocol"
	openStackProxyProtocol       = "v1"
	awsClassicIdleTimeoutSeconds = "4000"
)

// mergeCluster sets what the cluster needs.
func mergeCluster(spec tree, c Cluster) {
	components, cni := at(spec, "components"), at(spec, "values", "cni")
	switch c.Provider {
	case ProviderK3d:
		cni["cniBinDir"] = "/var/lib/rancher/k3s/data/cni"
		cni["cniConfDir"] = "/var/lib/rancher/k3s/agent/etc/cni/net.d"
	case ProviderGKE:
		cni["cniBinDir"] = "/home/kubernetes/bin"
		put(cni, true, "resourceQuotas", "enabled")
	case ProviderAWS, ProviderOpenStack, ProviderOther:
	}
	gateway := entry(components, IngressGateway, "ingressGateways")
	for name, value := range loadBalancer(c) {
		put(gateway, value, "k8s", "serviceAnnotations", name)
	}
	if c.DualStack {
		pilotEnv(spec, map[string]string{"ISTIO_DUAL_STACK": "true"})
		put(spec, "true", "meshConfig", "defaultConfig", "proxyMetadata", "ISTIO_DUAL_STACK")
		for _, k8s := range []tree{at(components, "pilot", "k8s"), at(gateway, "k8s"), at(entry(components, EgressGateway, "egressGateways"), "k8s")} {
			put(k8s, "RequireDualStack", "service", "ipFamilyPolicy")
		}
	}
	if c.Features.DisableCNI {
		put(components, false, "cni", "enabled")
	}
}

// loadBalancer are the annotations that the provider needs on the ingress gateway's Service.
func loadBalancer(c Cluster) map[string]string {
	switch {
	case c.Provider == ProviderOpenStack && c.GardenOS:
		return map[string]string{annotationOpenStackProxy: openStackProxyProtocol}
	case c.Provider != ProviderAWS:
		return nil
	case c.ELB:
		return map[string]string{
			awsPrefix + "proxy-protocol":          "*",
			awsPrefix + "connection-idle-timeout": awsClassicIdleTimeoutSeconds,
		}
	case c.DualStack:
		return map[string]string{
			awsPrefix + "type":            awsExternal,
			awsPrefix + "scheme":          "internet-facing",
			awsPrefix + "nlb-target-type": "instance",
			awsPrefix + "proxy-protocol":  "*",
		}
	default:
		return map[string]string{
			awsPrefix + "type":            awsNetwork,
			awsPrefix + "scheme":          "internet-facing",
			awsPrefix + "nlb-target-type": "instance",
		}
	}
}
