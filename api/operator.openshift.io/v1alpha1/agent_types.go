// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AgentConfig is how the agent runs.
type AgentConfig struct {
	// image is what the agent runs. Default: that of the manager's flag
	// --istio-csr-image.
	// +optional
	Image *AgentImage `json:"image,omitempty"`

	// replicas is how many pods the agent has. All of them answer requests; one
	// publishes the root certificate. Default 1.
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=100
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// podDisruptionBudget limits how many pods may be evicted at a time. Default: there
	// is none.
	// +optional
	PodDisruptionBudget *PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`

	// topologySpreadConstraints spread the pods over the cluster. One without a
	// labelSelector is about the agent's own pods. Default none.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems:=16
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is that of the pods. Default: that of the cluster.
	// +kubebuilder:validation:MaxLength:=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// serviceMonitor asks for a ServiceMonitor, for Prometheus to read the metrics. It
	// has no effect in a cluster without that kind. Default: there is none.
	// +optional
	ServiceMonitor *ServiceMonitor `json:"serviceMonitor,omitempty"`

	// networkPolicy is about what the pods may be reached by, and may reach.
	// +optional
	NetworkPolicy *NetworkPolicy `json:"networkPolicy,omitempty"`

	// trustedNodeAccounts are ServiceAccounts that may ask on behalf of the pods of their
	// node, as NAMESPACE/NAME: those of ztunnel, in ambient mode. Default none.
	// +listType=set
	// +kubebuilder:validation:MaxItems:=16
	// +kubebuilder:validation:items:MaxLength:=317
	// +kubebuilder:validation:items:Pattern:=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +optional
	TrustedNodeAccounts []string `json:"trustedNodeAccounts,omitempty"`

	// tls is about the agent's endpoint. No release up to 0.17 has such settings: it takes
	// a build of the agent's main branch, with image.version main. Default: the agent's own.
	// +optional
	TLS *AgentTLS `json:"tls,omitempty"`

	// servingDNSNames are names that the agent's own certificate gets besides that of its
	// Service, for meshes that reach it by another one, such as
	// cert-manager-istio-csr.istio-csr.svc.cluster.local. Default none.
	// +listType=set
	// +kubebuilder:validation:MaxItems:=25
	// +kubebuilder:validation:items:MinLength:=1
	// +kubebuilder:validation:items:MaxLength:=253
	// +optional
	ServingDNSNames []string `json:"servingDNSNames,omitempty"`

	// service is about the Service of the agent's endpoint.
	// +optional
	Service *AgentService `json:"service,omitempty"`

	// imagePullSecrets are the names of Secrets in the agent's namespace with which its image
	// is pulled. Default none.
	// +listType=set
	// +kubebuilder:validation:MaxItems:=16
	// +kubebuilder:validation:items:MinLength:=1
	// +kubebuilder:validation:items:MaxLength:=253
	// +optional
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`

	// podAnnotations are put on the agent's pods. Default none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// deploymentAnnotations are put on the agent's Deployment. Default none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	DeploymentAnnotations map[string]string `json:"deploymentAnnotations,omitempty"`

	// deploymentLabels are put on the agent's Deployment, and not on its pods. Labels that it
	// has of its own, such as app, cannot be changed by it. Default none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	DeploymentLabels map[string]string `json:"deploymentLabels,omitempty"`

	// certificateRequestAnnotations are put on every CertificateRequest, for policies that
	// look at them. Default none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	CertificateRequestAnnotations map[string]string `json:"certificateRequestAnnotations,omitempty"`

	// disableKubernetesClientRateLimiter has the agent ask the API server as fast as it can,
	// in a mesh that renews many certificates at once. Default false.
	// +optional
	DisableKubernetesClientRateLimiter bool `json:"disableKubernetesClientRateLimiter,omitempty"`

	// maxConcurrentReconciles is how many namespaces get the root certificate at a time. It
	// takes an agent of version 0.16 or later. Default 1.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=1000
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// runtimeIssuerConfigMap is the name of a ConfigMap in the agent's namespace whose keys
	// issuer-name, issuer-kind and issuer-group name an issuer. The agent follows it without a
	// restart, and has that issuer sign instead of issuerRef for as long as the ConfigMap is
	// there. It takes istioCACertificate with the CAs of every issuer that it may name.
	// Default: the agent has issuerRef sign.
	// +kubebuilder:validation:MaxLength:=253
	// +optional
	RuntimeIssuerConfigMap string `json:"runtimeIssuerConfigMap,omitempty"`

	// istiodCertificate is Static or Dynamic. Static has Strata make the Certificate of istiod,
	// before the agent. Dynamic has the agent make it, of the issuer that signs for it at the
	// time, and leaves it in place when the agent is removed. Default Static.
	// +kubebuilder:validation:Enum:="Static";"Dynamic"
	// +optional
	IstiodCertificate string `json:"istiodCertificate,omitempty"`
}

// IstiodCertificateDynamic has the agent make the Certificate of istiod.
const IstiodCertificateDynamic = "Dynamic"

// AgentService is about the Service of the agent's endpoint.
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || has(self.type) && self.type != 'ClusterIP'",message="nodePort needs type NodePort or LoadBalancer"
type AgentService struct {
	// type is ClusterIP, NodePort or LoadBalancer. Default ClusterIP.
	// +kubebuilder:validation:Enum:="ClusterIP";"NodePort";"LoadBalancer"
	// +optional
	Type string `json:"type,omitempty"`

	// nodePort is the port of the nodes. Default: the API server chooses one.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=65535
	// +optional
	NodePort int32 `json:"nodePort,omitempty"`

	// annotations are put on the Service, as load balancers are configured by them. Default
	// none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// AgentImage is what the agent runs.
type AgentImage struct {
	// reference is a full image reference, with a tag or a digest.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=512
	// +required
	Reference string `json:"reference"`

	// version is that of the agent in it, such as v0.17.0, or main for a build of its main
	// branch: it stands on the objects as a label, and says which settings the agent knows.
	// Default: the tag of the image.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	Version string `json:"version,omitempty"`
}

// PodDisruptionBudget limits evictions.
// +kubebuilder:validation:XValidation:rule="has(self.minAvailable) != has(self.maxUnavailable)",message="exactly one of minAvailable and maxUnavailable must be set"
type PodDisruptionBudget struct {
	// minAvailable is how many pods have to stay, as a number or a percentage.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// maxUnavailable is how many pods may be missing, as a number or a percentage.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// ServiceMonitor says how Prometheus reads the metrics.
type ServiceMonitor struct {
	// labels are put on the ServiceMonitor, for a Prometheus that selects by them.
	// Default none.
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// interval is how often the metrics are read, such as 30s. Default: that of the
	// Prometheus.
	// +kubebuilder:validation:MaxLength:=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+]?(([0-9]{1,15}[.]?[0-9]{0,15}|[.][0-9]{1,15})(h|m|s|ms|us|µs|ns))+$') && duration(self) > duration('0s')",message="interval must be a duration longer than 0s, such as 30s"
	// +optional
	Interval string `json:"interval,omitempty"`
}

// NetworkPolicy says what the pods may be reached by, and may reach.
type NetworkPolicy struct {
	// mode is Restricted, which allows what the agent needs and denies the rest, or None,
	// which makes no policy. Default Restricted.
	// +kubebuilder:validation:Enum:="Restricted";"None"
	// +kubebuilder:default:="Restricted"
	// +optional
	Mode string `json:"mode,omitempty"`

	// apiServerPorts are where the API server can be reached. Default: those of EndpointSlice
	// kubernetes in namespace default, whose changes are followed; 6443 when there is none.
	// +listType=set
	// +kubebuilder:validation:MaxItems:=8
	// +kubebuilder:validation:items:Minimum:=1
	// +kubebuilder:validation:items:Maximum:=65535
	// +optional
	APIServerPorts []int32 `json:"apiServerPorts,omitempty"`

	// dns allows name resolution, on port 53. The agent needs it when it is given the API
	// server by name. Default false.
	// +optional
	DNS bool `json:"dns,omitempty"`

	// monitoringNamespace is where metrics may be read from. Default
	// openshift-user-workload-monitoring.
	// +kubebuilder:validation:MaxLength:=63
	// +kubebuilder:validation:Pattern:=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	MonitoringNamespace string `json:"monitoringNamespace,omitempty"`
}

// NetworkPolicyNone is the mode that makes no policy.
const NetworkPolicyNone = "None"

// AgentTLS is about the agent's endpoint.
type AgentTLS struct {
	// minVersion is the lowest version of TLS that is spoken. Default 1.2.
	// +kubebuilder:validation:Enum:="1.2";"1.3"
	// +optional
	MinVersion string `json:"minVersion,omitempty"`

	// cipherSuites are those of TLS 1.2, by their names of the standard, such as
	// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256. Default: Go's.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems:=32
	// +kubebuilder:validation:items:MaxLength:=64
	// +kubebuilder:validation:items:Pattern:=`^TLS_[A-Z0-9_]+$`
	// +optional
	CipherSuites []string `json:"cipherSuites,omitempty"`

	// curvePreferences are the curves, in the order of preference: X25519, CurveP256,
	// CurveP384, CurveP521, or the number of another one. Default: Go's.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems:=16
	// +kubebuilder:validation:items:MaxLength:=32
	// +kubebuilder:validation:items:Pattern:=`^[A-Za-z0-9]+$`
	// +optional
	CurvePreferences []string `json:"curvePreferences,omitempty"`
}
