// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IstioCSR asks for an istio-csr agent in its namespace: the agent answers the
// certificate requests of an Istio mesh, and has cert-manager sign them.
//
// Its name is default, so that a namespace has at most one. Of several in a cluster
// the oldest is the one whose agent runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=istiocsrs,scope=Namespaced,categories={cert-manager-operator,istio-csr,istiocsr},shortName=icsr
// +kubebuilder:printcolumn:name="GRPC Endpoint",type=string,JSONPath=`.status.istioCSRGRPCEndpoint`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:metadata:labels={"app.kubernetes.io/name=istiocsr","app.kubernetes.io/part-of=cert-manager-operator"}
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="istiocsr is a singleton, .metadata.name must be 'default'"
type IstioCSR struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +required
	Spec IstioCSRSpec `json:"spec"`

	// status is what was observed.
	// +optional
	Status IstioCSRStatus `json:"status,omitempty"`
}

// IstioCSRList is a list of IstioCSRs.
//
// +kubebuilder:object:root=true
type IstioCSRList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IstioCSR `json:"items"`
}

// IstioCSRSpec is what is wanted of the agent.
type IstioCSRSpec struct {
	// istioCSRConfig is the configuration of the agent, and of the certificates.
	// +required
	IstioCSRConfig IstioCSRConfig `json:"istioCSRConfig"`

	// controllerConfig is about the objects that are made for the agent.
	// +optional
	ControllerConfig *ControllerConfig `json:"controllerConfig,omitempty"`

	// agentConfig is how the agent runs, beyond what istioCSRConfig says. Nothing of
	// it has an effect unless it is set.
	// +optional
	AgentConfig *AgentConfig `json:"agentConfig,omitempty"`

	// Undecodable says why the spec could not be decoded, empty when it was. It is no
	// part of the API.
	Undecodable string `json:"-"`
}

// IstioCSRConfig is the configuration of the agent.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.server) || has(self.server)",message="server may not be removed once set, as its port is immutable: set its fields to their defaults instead"
type IstioCSRConfig struct {
	// logLevel is how much the agent logs: 1 the least, 5 the most. Default 1.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=5
	// +optional
	LogLevel int32 `json:"logLevel,omitempty"`

	// logFormat is text or json. Default text.
	// +kubebuilder:validation:Enum:="text";"json"
	// +kubebuilder:default:="text"
	// +optional
	LogFormat string `json:"logFormat,omitempty"`

	// istioDataPlaneNamespaceSelector selects the namespaces, by their labels, in which
	// the agent publishes the root certificate as ConfigMap istio-ca-root-cert, such as
	// maistra.io/member-of=istio-system. Namespaces that are selected no longer keep
	// theirs. Default: all namespaces.
	// +kubebuilder:example:="maistra.io/member-of=istio-system"
	// +kubebuilder:validation:MinLength:=0
	// +kubebuilder:validation:MaxLength:=4096
	// +optional
	IstioDataPlaneNamespaceSelector string `json:"istioDataPlaneNamespaceSelector,omitempty"`

	// certManager says who signs.
	// +required
	CertManager CertManagerConfig `json:"certManager"`

	// istiodTLSConfig is about the certificate of istiod, and that of the agent.
	// +required
	IstiodTLSConfig IstiodTLSConfig `json:"istiodTLSConfig"`

	// server is the endpoint that the mesh asks. It may not be removed once set.
	// +optional
	Server *ServerConfig `json:"server,omitempty"`

	// istio is about the mesh.
	// +required
	Istio IstioConfig `json:"istio"`

	// resources are the agent's. Default: none are requested, and nothing is limited.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// affinity says where the agent may be scheduled.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations let the agent be scheduled on nodes with taints.
	// +listType=atomic
	// +kubebuilder:validation:MinItems:=0
	// +kubebuilder:validation:MaxItems:=50
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// nodeSelector selects the nodes that the agent may run on, instead of the default,
	// which is kubernetes.io/os=linux.
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties:=0
	// +kubebuilder:validation:MaxProperties:=50
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// CertManagerConfig says who signs.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.issuerRef) && !has(self.issuerRef) || has(oldSelf.issuerRef) && has(self.issuerRef)",message="issuerRef may only be configured during creation"
type CertManagerConfig struct {
	// issuerRef names the Issuer in istio.namespace, or the ClusterIssuer, that signs.
	// Issuers of the types ACME and SelfSigned cannot sign for a mesh. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="issuerRef is immutable once set"
	// +kubebuilder:validation:XValidation:rule="has(self.kind) && (self.kind.lowerAscii() == 'issuer' || self.kind.lowerAscii() == 'clusterissuer')",message="kind must be either 'Issuer' or 'ClusterIssuer'"
	// +kubebuilder:validation:XValidation:rule="has(self.group) && self.group.lowerAscii() == 'cert-manager.io'",message="group must be 'cert-manager.io'"
	// +required
	IssuerRef IssuerReference `json:"issuerRef"`

	// istioCACertificate names a ConfigMap with the CA certificates of the mesh, as PEM.
	// They must have signed the istiod certificate. Default: what the issuer gives.
	// +optional
	IstioCACertificate *ConfigMapReference `json:"istioCACertificate,omitempty"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// name is the issuer's.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +required
	Name string `json:"name"`

	// kind is Issuer or ClusterIssuer, in any case.
	// +kubebuilder:validation:MaxLength:=63
	// +optional
	Kind string `json:"kind,omitempty"`

	// group is cert-manager.io, in any case.
	// +kubebuilder:validation:MaxLength:=253
	// +optional
	Group string `json:"group,omitempty"`
}

// IstiodTLSConfig is about the certificate of istiod, and that of the agent.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.privateKeyAlgorithm) && !has(self.privateKeyAlgorithm) || has(oldSelf.privateKeyAlgorithm) && has(self.privateKeyAlgorithm)",message="privateKeyAlgorithm may only be configured during creation"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.privateKeySize) && !has(self.privateKeySize) || has(oldSelf.privateKeySize) && has(self.privateKeySize)",message="privateKeySize may only be configured during creation"
// +kubebuilder:validation:XValidation:rule="!has(self.privateKeySize) || ((!has(self.privateKeyAlgorithm) || self.privateKeyAlgorithm == 'RSA') ? (self.privateKeySize in [2048,4096,8192]) : (self.privateKeySize in [256,384]))",message="privateKeySize must match with configured privateKeyAlgorithm: RSA takes 2048, 4096 or 8192, and ECDSA 256 or 384, which has to be set, as the default is 2048"
type IstiodTLSConfig struct {
	// commonName is that of the istiod certificate. Default istiod.NAMESPACE.svc, with
	// the namespace of istio; none when that has more than 64 characters.
	// +kubebuilder:validation:MinLength:=0
	// +kubebuilder:validation:MaxLength:=64
	// +kubebuilder:example:="istiod.istio-system.svc"
	// +optional
	CommonName string `json:"commonName,omitempty"`

	// trustDomain is that of the mesh; it stands in the SPIFFE URIs.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="trustDomain must consist of lowercase alphanumeric characters, hyphens ('-'), and periods ('.'). Each block, separated by periods, must start and end with an alphanumeric character. Hyphens are not allowed at the start or end of a block, and consecutive periods are not permitted."
	// +required
	TrustDomain string `json:"trustDomain"`

	// certificateDNSNames are names that the istiod certificate gets besides those of
	// istio.revisions. Default none.
	// +kubebuilder:validation:MinItems:=0
	// +kubebuilder:validation:MaxItems:=25
	// +kubebuilder:validation:items:MinLength:=1
	// +kubebuilder:validation:items:MaxLength:=253
	// +listType=set
	// +optional
	CertificateDNSNames []string `json:"certificateDNSNames,omitempty"`

	// certificateDuration is how long the istiod certificate and the agent's are valid.
	// cert-manager takes no less than 1h. Default 1h.
	// +kubebuilder:default:="1h"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+]?(([0-9]{1,15}[.]?[0-9]{0,15}|[.][0-9]{1,15})(h|m|s|ms|us|µs|ns))+$') && duration(self) > duration('0s')",message="certificateDuration must be a duration longer than 0s, such as 1h"
	// +optional
	CertificateDuration *metav1.Duration `json:"certificateDuration,omitempty"`

	// certificateRenewBefore is how long before its end a certificate is renewed. It must
	// be shorter than certificateDuration, and at least 5m. Default 30m.
	// +kubebuilder:default:="30m"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+]?(([0-9]{1,15}[.]?[0-9]{0,15}|[.][0-9]{1,15})(h|m|s|ms|us|µs|ns))+$') && duration(self) > duration('0s')",message="certificateRenewBefore must be a duration longer than 0s, such as 30m"
	// +optional
	CertificateRenewBefore *metav1.Duration `json:"certificateRenewBefore,omitempty"`

	// privateKeySize is that of the keys of istiod and the agent: 2048, 4096 or 8192 for
	// RSA, 256 or 384 for ECDSA, for which it has to be set. Default 2048. Immutable.
	// +kubebuilder:validation:Enum:=256;384;2048;4096;8192
	// +kubebuilder:default:=2048
	// +kubebuilder:validation:XValidation:rule="oldSelf == 0 || self == oldSelf",message="privateKeySize is immutable once set"
	// +optional
	PrivateKeySize int32 `json:"privateKeySize,omitempty"`

	// privateKeyAlgorithm is RSA or ECDSA. Default RSA. Immutable.
	// +kubebuilder:default:="RSA"
	// +kubebuilder:validation:Enum:="RSA";"ECDSA"
	// +kubebuilder:validation:XValidation:rule="oldSelf == '' || self == oldSelf",message="privateKeyAlgorithm is immutable once set"
	// +optional
	PrivateKeyAlgorithm string `json:"privateKeyAlgorithm,omitempty"`

	// maxCertificateDuration is the longest validity that a workload can ask for; at
	// least 1m. Default 1h.
	// +kubebuilder:default:="1h"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+]?(([0-9]{1,15}[.]?[0-9]{0,15}|[.][0-9]{1,15})(h|m|s|ms|us|µs|ns))+$') && duration(self) >= duration('1m')",message="maxCertificateDuration must be a duration of at least 1m, such as 1h"
	// +optional
	MaxCertificateDuration *metav1.Duration `json:"maxCertificateDuration,omitempty"`
}

// ServerConfig is the endpoint that the mesh asks.
type ServerConfig struct {
	// clusterID is the id of the cluster that requests have to carry. Default Kubernetes.
	// +kubebuilder:default:="Kubernetes"
	// +kubebuilder:validation:MinLength:=0
	// +kubebuilder:validation:MaxLength:=253
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// port is that of the Service. Default 443. Immutable once server is set.
	// +kubebuilder:default:=443
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=65535
	// +kubebuilder:validation:XValidation:rule="oldSelf == 0 || self == oldSelf",message="port is immutable once set"
	// +optional
	Port int32 `json:"port,omitempty"`
}

// IstioConfig is about the mesh.
type IstioConfig struct {
	// revisions are the revisions of istiod in the cluster. The istiod certificate has
	// the DNS name of each. Default: default.
	// +listType=set
	// +kubebuilder:default:={"default"}
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:items:MinLength:=1
	// +kubebuilder:validation:items:MaxLength:=63
	// +optional
	Revisions []string `json:"revisions,omitempty"`

	// namespace is that of istiod. The istiod certificate and, of the kind Issuer, the
	// issuer are in it. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace is immutable once set"
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="namespace must consist of only lowercase alphanumeric characters and hyphens, and must start and end with an alphanumeric character."
	// +required
	Namespace string `json:"namespace"`
}

// ConfigMapReference names a key of a ConfigMap.
type ConfigMapReference struct {
	// name is the ConfigMap's.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="name must consist of lowercase alphanumeric characters, hyphens ('-'), and periods ('.'). Each block, separated by periods, must start and end with an alphanumeric character. Hyphens are not allowed at the start or end of a block, and consecutive periods are not permitted."
	// +required
	Name string `json:"name"`

	// namespace is the ConfigMap's. Default: that of the IstioCSR.
	// +kubebuilder:validation:MinLength:=0
	// +kubebuilder:validation:MaxLength:=63
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !format.dns1123Label().validate(self).hasValue()",message="namespace must consist of only lowercase alphanumeric characters and hyphens, and must start and end with an alphanumeric character."
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// key is where in the ConfigMap's data the certificates are.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[-._a-zA-Z0-9]+$
	// +required
	Key string `json:"key"`
}

// ControllerConfig is about the objects that are made for the agent.
type ControllerConfig struct {
	// labels are put on every object that is made for the agent, and on its pods. Labels
	// that the objects have of their own, such as app, cannot be changed by it.
	// +mapType=granular
	// +kubebuilder:validation:MinProperties:=0
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// IstioCSRStatus is what was observed of an IstioCSR.
type IstioCSRStatus struct {
	ConditionalStatus `json:",inline"`

	// istioCSRImage is the image that the agent runs.
	// +optional
	IstioCSRImage string `json:"istioCSRImage,omitempty"`

	// istioCSRGRPCEndpoint is host and port of the agent, which istiod and the proxies
	// have to be given as the address of their CA.
	// +optional
	IstioCSRGRPCEndpoint string `json:"istioCSRGRPCEndpoint,omitempty"`

	// serviceAccount is the name of that of the agent.
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`

	// clusterRole is the name of that of the agent.
	// +optional
	ClusterRole string `json:"clusterRole,omitempty"`

	// clusterRoleBinding is the name of that of the agent.
	// +optional
	ClusterRoleBinding string `json:"clusterRoleBinding,omitempty"`

	// caCertificates are the CA certificates that the agent trusts and publishes, with those
	// that are leaving.
	// +listType=atomic
	// +optional
	CACertificates []CACertificate `json:"caCertificates,omitempty"`
}

// CACertificate is a CA certificate of the mesh.
type CACertificate struct {
	// name is that of its subject, shortened to 64 characters.
	// +required
	Name string `json:"name"`

	// digest begins the SHA-256 of the certificate, in hexadecimal digits.
	// +required
	Digest string `json:"digest"`

	// notAfter is when it expires.
	// +required
	NotAfter metav1.Time `json:"notAfter"`

	// leaving says that its source no longer has it, and that it stays because certificates
	// of it are in use.
	// +optional
	Leaving bool `json:"leaving,omitempty"`

	// until is when one that is leaving goes. It is not set while the istiod certificate is
	// of it.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// ConditionalStatus are the conditions.
type ConditionalStatus struct {
	// conditions are Ready and Degraded.
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
