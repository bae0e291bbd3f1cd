// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Components configures what the mesh consists of. A component that is not set has the
// defaults of the cluster's size.
type Components struct {
	// Pilot is the control plane, istiod.
	// +optional
	Pilot *IstioComponent `json:"pilot,omitempty"`

	// IngressGateway is the gateway for traffic into the cluster.
	// +optional
	IngressGateway *IstioComponent `json:"ingressGateway,omitempty"`

	// EgressGateway is the gateway for traffic out of the cluster. Default off.
	// +optional
	EgressGateway *EgressGateway `json:"egressGateway,omitempty"`

	// CNI is the node agent that redirects the traffic of pods.
	// +optional
	CNI *CNIComponent `json:"cni,omitempty"`

	// Proxy is the sidecar of every workload.
	// +optional
	Proxy *ProxyComponent `json:"proxy,omitempty"`
}

// IstioComponent is a component that runs as a Deployment.
type IstioComponent struct {
	// K8s configures its Kubernetes objects.
	K8s *KubernetesResourcesConfig `json:"k8s"`
}

// EgressGateway is the gateway for traffic out of the cluster.
type EgressGateway struct {
	// K8s configures its Kubernetes objects.
	// +optional
	K8s *KubernetesResourcesConfig `json:"k8s,omitempty"`

	// Enabled installs it. Default false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// KubernetesResourcesConfig configures the objects of a Deployment.
type KubernetesResourcesConfig struct {
	// HPASpec bounds the number of replicas.
	// +optional
	HPASpec *HPASpec `json:"hpaSpec,omitempty"`

	// Strategy says how pods are replaced.
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// Resources are those of each pod.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// HPASpec bounds the number of replicas.
type HPASpec struct {
	// MaxReplicas is the most that load can lead to. Default 15, in a small cluster 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// MinReplicas is the number without load. Default 3, in a small cluster 1. With 1 there
	// is no disruption budget, as it would block every drain of a node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	MinReplicas *int32 `json:"minReplicas,omitempty"`
}

// Strategy says how pods are replaced.
type Strategy struct {
	// RollingUpdate bounds how many pods there are during a rollout.
	RollingUpdate *RollingUpdate `json:"rollingUpdate"`
}

// RollingUpdate bounds how many pods there are during a rollout.
type RollingUpdate struct {
	// MaxSurge is how many pods more than wanted there may be, as a number or in percent.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^[0-9]+%?$`
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : size(self) >= 0",message="must be between 0 and 2147483647, or a percentage"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// MaxUnavailable is how many pods less than wanted there may be, as a number or in
	// percent.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : size(self) >= 0",message="must be between 0 and 2147483647, or a percentage"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// CNIComponent is the node agent.
type CNIComponent struct {
	// K8s configures its Kubernetes objects.
	K8s *CNIK8sConfig `json:"k8s"`
}

// CNIK8sConfig configures the objects of the node agent.
type CNIK8sConfig struct {
	// Affinity says on which nodes it runs. Each of its three parts replaces the default's.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// Resources are those of each pod.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// ProxyComponent is the sidecar.
type ProxyComponent struct {
	// K8s configures it.
	K8s *ProxyK8sConfig `json:"k8s"`
}

// ProxyK8sConfig configures the sidecar.
type ProxyK8sConfig struct {
	// Resources are those of each sidecar. A change restarts workloads with a sidecar.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// Resources are what a container may use and is promised. What is not set has the default
// of the cluster's size.
type Resources struct {
	// Limits are the most that it may use.
	// +optional
	Limits *ResourceClaims `json:"limits,omitempty"`

	// Requests are what it is promised.
	// +optional
	Requests *ResourceClaims `json:"requests,omitempty"`
}

// ResourceClaims are amounts of CPU and memory.
type ResourceClaims struct {
	// CPU is in cores, such as 2, 0.5 or 500m.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+m?|[0-9]\.[0-9]{1,3})$`
	CPU *string `json:"cpu,omitempty"`

	// Memory is in bytes, such as 512Mi.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]+(((\.[0-9]+)?(E|P|T|G|M|k|Ei|Pi|Ti|Gi|Mi|Ki|m)?)|(e[0-9]+))$`
	Memory *string `json:"memory,omitempty"`
}
