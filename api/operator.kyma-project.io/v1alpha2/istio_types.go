// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Istio describes the Istio service mesh of the cluster. It must stand in the namespace
// kyma-system; when there are several, the oldest counts.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories={kyma-modules,kyma-istio}
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
type Istio struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the mesh. What it leaves out has the default of the cluster's size.
	Spec IstioSpec `json:"spec,omitempty"`

	// Status is where the mesh stands. Written by the manager only.
	Status IstioStatus `json:"status,omitempty"`
}

// IstioList is a list of Istio resources.
//
// +kubebuilder:object:root=true
type IstioList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the resources.
	Items []Istio `json:"items"`
}

// IstioSpec describes the mesh.
type IstioSpec struct {
	// Config configures the mesh and its gateways.
	// +optional
	Config Config `json:"config,omitempty"`

	// Components configures what the mesh consists of.
	// +optional
	Components *Components `json:"components,omitempty"`

	// Experimental turns on what may change or go without notice. Refused unless the
	// manager allows it.
	// +optional
	Experimental *Experimental `json:"experimental,omitempty"`

	// CompatibilityMode makes Istio behave like its previous minor version where they
	// differ and a switch exists. Default false.
	// +optional
	CompatibilityMode bool `json:"compatibilityMode,omitempty"`

	// NetworkPoliciesEnabled installs network policies that let the mesh's own traffic
	// through where a namespace denies everything else. Default false.
	// +optional
	NetworkPoliciesEnabled bool `json:"networkPoliciesEnabled,omitempty"`
}

// Experimental are switches that may change or go without notice.
type Experimental struct {
	// Pilot are switches of istiod.
	// +optional
	Pilot PilotFeatures `json:"pilot,omitempty"`

	// EnableAmbient installs the ambient mode: ztunnel, and the node agent's part of it.
	// Default false.
	// +optional
	EnableAmbient *bool `json:"enableAmbient,omitempty"`
}

// PilotFeatures are switches of istiod.
type PilotFeatures struct {
	// EnableAlphaGatewayAPI lets istiod read the experimental kinds of the Gateway API.
	// Default false.
	// +optional
	EnableAlphaGatewayAPI bool `json:"enableAlphaGatewayAPI,omitempty"`

	// EnableMultiNetworkDiscoverGatewayAPI lets istiod find the gateways of other networks
	// through the Gateway API. Default false.
	// +optional
	EnableMultiNetworkDiscoverGatewayAPI bool `json:"enableMultiNetworkDiscoverGatewayAPI,omitempty"`
}

// IstioStatus is where the mesh stands.
type IstioStatus struct {
	// State is the summary: Ready, Processing, Deleting, Warning or Error.
	// +kubebuilder:validation:Enum=Processing;Deleting;Ready;Error;Warning
	State State `json:"state"`

	// Conditions are Ready, ProxySidecarRestartSucceeded and
	// IngressTargetingUserResourceFound.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions *[]metav1.Condition `json:"conditions,omitempty"`

	// Description says what keeps the state from being Ready. Empty when it is.
	// +optional
	Description string `json:"description,omitempty"`
}
