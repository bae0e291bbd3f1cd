// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// services are the endpoint of the mesh, and that of the metrics.
func (o objects) services() []*unstructured.Unstructured {
	endpoint := o.service(AgentName, "web", port(o.IstioCSR), servingPort)
	if asked := askedOf(o.IstioCSR).Service; asked != nil {
		annotate(endpoint.Object, asked.Annotations)
		spec, _ := endpoint.Object["spec"].(map[string]any)
		spec["type"] = cmp.Or(asked.Type, serviceType)
		if asked.NodePort != 0 {
			endpointPort := servicePort("web", port(o.IstioCSR), servingPort)
			endpointPort["nodePort"] = int64(asked.NodePort)
			spec["ports"] = []any{endpointPort}
		}
	}
	return []*unstructured.Unstructured{endpoint, o.service(metricsName, "metrics", metricsPort, metricsPort)}
}

// serviceType is that of a Service unless another one is asked for.
const serviceType = "ClusterIP"

// askedOf is how the agent is to run, empty when nothing is asked for.
func askedOf(ic *operatorv1alpha1.IstioCSR) operatorv1alpha1.AgentConfig {
	if ic.Spec.AgentConfig == nil {
		return operatorv1alpha1.AgentConfig{}
	}
	return *ic.Spec.AgentConfig
}

// annotate puts annotations on an object, if there are any.
func annotate(object map[string]any, annotations map[string]string) {
	metadata, _ := object["metadata"].(map[string]any)
	if len(annotations) > 0 {
		metadata["annotations"] = asAny(annotations)
	}
}

func (o objects) service(name, portName string, number, target int64) *unstructured.Unstructured {
	return with(o.object("v1", "Service", o.namespace, name), "spec", map[string]any{
		"type":     serviceType,
		"ports":    []any{servicePort(portName, number, target)},
		"selector": selector(),
	})
}

func servicePort(name string, number, target int64) map[string]any {
	return map[string]any{"name": name, "port": number, "targetPort": target, "protocol": "TCP"}
}

// deployment is the agent.
func (o objects) deployment() *unstructured.Unstructured {
	u := o.object("apps/v1", "Deployment", o.namespace, AgentName)
	annotate(u.Object, askedOf(o.IstioCSR).DeploymentAnnotations)
	setLabels(u, askedOf(o.IstioCSR).DeploymentLabels)
	if o.found.kept != nil {
		setLabel(u, labelPods, podsExisting)
		return with(u, "spec", o.existingSpec())
	}
	return with(u, "spec", map[string]any{
		"replicas": Replicas(o.IstioCSR),
		"selector": map[string]any{"matchLabels": selector()},
		"template": o.template(),
	})
}

// template is that of the agent's pods.
func (o objects) template() map[string]any {
	template := map[string]any{
		"metadata": map[string]any{"labels": asAny(o.labels)},
		"spec":     o.pod(),
	}
	annotate(template, askedOf(o.IstioCSR).PodAnnotations)
	return template
}

// Replicas is how many pods an agent has.
func Replicas(ic *operatorv1alpha1.IstioCSR) int64 {
	if agent := ic.Spec.AgentConfig; agent != nil && agent.Replicas != nil {
		return int64(*agent.Replicas)
	}
	return 1
}

func (o objects) pod() map[string]any {
	c := o.IstioCSR.Spec.IstioCSRConfig
	nodes := asAny(c.NodeSelector)
	if c.NodeSelector == nil {
		nodes = map[string]any{"kubernetes.io/os": "linux"}
	}
	pod := map[string]any{
		"serviceAccountName": AgentName,
		"containers":         []any{o.container()},
		"volumes": []any{map[string]any{"name": o.volumeName(), "configMap": map[string]any{
			"name":        CAConfigMap,
			"defaultMode": int64(0o644),
			"items":       []any{map[string]any{"key": CAKey, "path": CAKey, "mode": int64(0o644)}},
		}}},
	}
	if len(nodes) > 0 {
		pod["nodeSelector"] = nodes
	}
	if c.Affinity != nil {
		pod["affinity"] = inManifest(c.Affinity)
	}
	if len(c.Tolerations) > 0 {
		pod["tolerations"] = contents(c.Tolerations)
	}
	if agent := o.IstioCSR.Spec.AgentConfig; agent != nil {
		if agent.PriorityClassName != "" {
			pod["priorityClassName"] = agent.PriorityClassName
		}
		if len(agent.TopologySpreadConstraints) > 0 {
			pod["topologySpreadConstraints"] = contents(spreadOf(agent))
		}
		if len(agent.ImagePullSecrets) > 0 {
			pod["imagePullSecrets"] = contents(pullSecretsOf(agent))
		}
	}
	return pod
}

// spreadOf are the constraints; those that select no pods are about the agent's.
func spreadOf(agent *operatorv1alpha1.AgentConfig) []corev1.TopologySpreadConstraint {
	all := make([]corev1.TopologySpreadConstraint, len(agent.TopologySpreadConstraints))
	for i, constraint := range agent.TopologySpreadConstraints {
		if all[i] = constraint; constraint.LabelSelector == nil {
			all[i].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": AgentName}}
		}
	}
	return all
}

// pullSecretsOf are the Secrets that the image is pulled with, in one order.
func pullSecretsOf(agent *operatorv1alpha1.AgentConfig) []corev1.LocalObjectReference {
	var all []corev1.LocalObjectReference
	for _, name := range slices.Sorted(slices.Values(agent.ImagePullSecrets)) {
		all = append(all, corev1.LocalObjectReference{Name: name})
	}
	return all
}

func (o objects) container() map[string]any {
	container := map[string]any{
		"name":            AgentName,
		"image":           imageOf(o.IstioCSR, o.Image).Reference,
		"imagePullPolicy": "IfNotPresent",
		"args":            o.args(),
		"ports":           []any{containerPort(servingPort), containerPort(metricsPort)},
		"readinessProbe": map[string]any{
			"httpGet":             map[string]any{"port": int64(readinessPort), "path": "/readyz"},
			"initialDelaySeconds": int64(3),
			"periodSeconds":       int64(7),
		},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false,
			"capabilities":             map[string]any{"drop": []any{"ALL"}},
			"readOnlyRootFilesystem":   true,
			"runAsNonRoot":             true,
			"seccompProfile":           map[string]any{"type": "RuntimeDefault"},
		},
		"volumeMounts": []any{map[string]any{"name": o.volumeName(), "mountPath": caMountPath, "readOnly": true}},
	}
	if resources := inManifest(&o.IstioCSR.Spec.IstioCSRConfig.Resources); len(resources) > 0 {
		container["resources"] = resources
	}
	return container
}

func containerPort(number int64) map[string]any {
	// With the protocol: a server-side apply tells ports apart by both.
	return map[string]any{"containerPort": number, "protocol": "TCP"}
}

// inManifest is a value of the core API as it stands in a manifest.
func inManifest(value any) map[string]any {
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err != nil {
		return nil // types of the core API can be converted
	}
	return converted
}

func contents[T any](values []T) []any {
	all := make([]any, 0, len(values))
	for i := range values {
		all = append(all, inManifest(&values[i]))
	}
	return all
}

// extras are what is only there when it is asked for.
func (o objects) extras() []*unstructured.Unstructured {
	agent := o.IstioCSR.Spec.AgentConfig
	if agent == nil {
		return nil
	}
	var extras []*unstructured.Unstructured
	if budget := agent.PodDisruptionBudget; budget != nil {
		spec := map[string]any{"selector": map[string]any{"matchLabels": selector()}}
		maps.Copy(spec, inManifest(budget))
		extras = append(extras, with(o.object("policy/v1", "PodDisruptionBudget", o.namespace, AgentName), "spec", spec))
	}
	if agent.ServiceMonitor != nil && o.Facts.ServiceMonitors {
		extras = append(extras, o.serviceMonitor(agent.ServiceMonitor))
	}
	return extras
}

// serviceMonitor has Prometheus read the metrics. Both Services have the same labels;
// only one has the port.
func (o objects) serviceMonitor(config *operatorv1alpha1.ServiceMonitor) *unstructured.Unstructured {
	u := o.object("monitoring.coreos.com/v1", "ServiceMonitor", o.namespace, AgentName)
	setLabels(u, config.Labels)
	endpoint := map[string]any{"port": "metrics", "path": "/metrics"}
	if config.Interval != "" {
		endpoint["interval"] = config.Interval
	}
	return with(u, "spec", map[string]any{
		"selector":          map[string]any{"matchLabels": selector()},
		"namespaceSelector": map[string]any{"matchNames": []any{o.namespace}},
		"endpoints":         []any{endpoint},
		"jobLabel":          "app.kubernetes.io/name",
	})
}

// clusterID is the id that requests have to carry.
func clusterID(ic *operatorv1alpha1.IstioCSR) string {
	if server := ic.Spec.IstioCSRConfig.Server; server != nil {
		return cmp.Or(server.ClusterID, defaultClusterID)
	}
	return defaultClusterID
}

const defaultClusterID = "Kubernetes"
