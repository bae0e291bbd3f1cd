// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObjectSlice holds manifests that are too large to stand in a Revision.
//
// It is named "sha256-" and the hexadecimal SHA-256 of its content before
// compression, so equal content is stored once and shared by every revision that
// contains it. It is immutable.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=slice,categories=strata
// +kubebuilder:printcolumn:name="Package",type=string,JSONPath=`.metadata.labels.strata\.run/package`,description="The Package that made it first"
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.objects`,description="How many manifests it holds"
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.bytes`,description="Size before compression"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.data == oldSelf.data && self.objects == oldSelf.objects && self.bytes == oldSelf.bytes",message="an ObjectSlice is immutable: create one with the new content's digest as its name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^sha256-[0-9a-f]{64}$')",message="the name must be sha256- and the 64 hexadecimal digits of the content's digest"
type ObjectSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Data is the gzip'd content in base64: the manifests as canonical JSON (keys
	// sorted, no white space), one a line. Immutable.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9+/]*={0,2}$`
	// +kubebuilder:validation:MaxLength=1400000
	// +kubebuilder:validation:XValidation:rule="size(self) % 4 == 0",message="data must be base64"
	Data []byte `json:"data"`

	// Objects is how many manifests data holds. Immutable.
	// +required
	// +kubebuilder:validation:Minimum=1
	Objects int32 `json:"objects"`

	// Bytes is the size of the content before compression, in bytes. Immutable.
	// +required
	// +kubebuilder:validation:Minimum=2
	Bytes int64 `json:"bytes"`
}

// ObjectSliceList is a list of ObjectSlices.
//
// +kubebuilder:object:root=true
type ObjectSliceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ObjectSlice `json:"items"`
}
