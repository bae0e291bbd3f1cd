// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "operator.kyma-project.io", Version: "v1alpha1"}

// SchemeBuilder collects the functions that add this package's types to a scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds this package's types to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Istio{}, &IstioList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Istio is the resource of v1alpha2 under its first version.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories={kyma-modules,kyma-istio}
// +kubebuilder:deprecatedversion:warning="operator.kyma-project.io/v1alpha1 Istio is deprecated: use v1alpha2, which has the same fields"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
type Istio struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the mesh.
	Spec v1alpha2.IstioSpec `json:"spec,omitempty"`

	// Status is where the mesh stands. Written by the manager only.
	Status v1alpha2.IstioStatus `json:"status,omitempty"`
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
