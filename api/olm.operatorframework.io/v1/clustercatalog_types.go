// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterCatalog names a catalog that packages of ClusterExtensions are found in.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clustercatalogs,scope=Cluster
// +kubebuilder:printcolumn:name="LastUnpacked",type=date,JSONPath=`.status.lastUnpacked`
// +kubebuilder:printcolumn:name="Serving",type=string,JSONPath=`.status.conditions[?(@.type=='Serving')].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Progressing",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Progressing')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Progressing')].message`
// +kubebuilder:metadata:labels={"strata.run/front=clusterextension"}
type ClusterCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// spec is what is wanted.
	// +required
	Spec ClusterCatalogSpec `json:"spec"`

	// status is what was observed. Written by the manager, or by catalogd where that serves catalogs.
	// +optional
	Status ClusterCatalogStatus `json:"status,omitempty"`
}

// ClusterCatalogList is a list of ClusterCatalogs.
//
// +kubebuilder:object:root=true
type ClusterCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// items are the ClusterCatalogs.
	Items []ClusterCatalog `json:"items"`
}

// The values of availabilityMode.
const (
	// AvailabilityModeAvailable lets extensions be resolved from a catalog.
	AvailabilityModeAvailable = "Available"
	// AvailabilityModeUnavailable is as if the catalog did not exist.
	AvailabilityModeUnavailable = "Unavailable"
)

// ClusterCatalogSpec is what is wanted of a catalog.
type ClusterCatalogSpec struct {
	// source is where the content of the catalog comes from.
	// +required
	Source CatalogSource `json:"source"`

	// priority decides between catalogs that have a package: the highest wins. It may be negative.
	// Default 0.
	// +kubebuilder:default:=0
	// +kubebuilder:validation:Minimum:=-2147483648
	// +kubebuilder:validation:Maximum:=2147483647
	// +optional
	Priority int32 `json:"priority"`

	// availabilityMode is Available or Unavailable. Unavailable is as if the catalog did not exist:
	// its content is dropped, and what was installed from it stays. Default Available.
	// +kubebuilder:default:=Available
	// +kubebuilder:validation:Enum:="Unavailable";"Available"
	// +optional
	AvailabilityMode string `json:"availabilityMode,omitempty"`
}

// SourceTypeImage is the value of [CatalogSource] and [ResolvedCatalogSource] for a catalog image.
const SourceTypeImage = "Image"

// CatalogSource is where the content of a catalog comes from.
// +union
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'Image' ? has(self.image) : !has(self.image)",message="image is required when type is Image, and forbidden otherwise"
type CatalogSource struct {
	// type is Image: an image with a catalog.
	// +unionDiscriminator
	// +kubebuilder:validation:Enum:="Image"
	// +required
	Type string `json:"type"`

	// image is the image.
	// +optional
	Image *ImageSource `json:"image,omitempty"`
}

// ImageSource is an image with a catalog.
// +kubebuilder:validation:XValidation:rule="!has(self.pollIntervalMinutes) || !self.ref.contains('@')",message="pollIntervalMinutes is forbidden beside a digest in ref, which always means the same content: remove it, or use a tag"
type ImageSource struct {
	// ref is the image: registry, repository, and a tag or digest, such as
	// quay.io/operatorhubio/catalog:latest.
	// +kubebuilder:validation:MaxLength:=1000
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*(:[0-9]+)?/')`,message="ref must begin with the domain of a registry and a slash, such as quay.io/"
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^/]+/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*([:@]|$)')`,message="ref must have a repository after the registry, of lower case letters and digits with ., _, - and / between them"
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^/]+/[^:@]*[:@]')`,message="ref must end with a tag, such as :latest, or a digest, such as @sha256:..."
	// +kubebuilder:validation:XValidation:rule=`!self.matches('^[^/]+/[^:@]*:') || self.matches(r'^[^/]+/[^:@]*:\w[\w.-]{0,126}(@|$)')`,message="ref has an invalid tag: it must have at most 127 letters, digits, _, . and -, and begin with a letter, a digit or _"
	// +kubebuilder:validation:XValidation:rule=`!self.contains('@') || self.matches('@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$')`,message="ref has an invalid digest: it must be an algorithm, a colon and at least 32 hexadecimal digits, such as sha256:..."
	// +required
	Ref string `json:"ref"`

	// pollIntervalMinutes is after how many minutes the registry is asked again what the tag names.
	// Default: it is asked once.
	// +kubebuilder:validation:Minimum:=1
	// +optional
	PollIntervalMinutes *int `json:"pollIntervalMinutes,omitempty"`
}

// ClusterCatalogStatus is what was observed of a catalog.
type ClusterCatalogStatus struct {
	// conditions are Serving and Progressing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// resolvedSource is what the content was read from last.
	// +optional
	ResolvedSource *ResolvedCatalogSource `json:"resolvedSource,omitempty"`

	// urls are where catalogd serves the content. Strata reads catalogs from there, and serves none.
	// +optional
	URLs *ClusterCatalogURLs `json:"urls,omitempty"`

	// lastUnpacked is when the content was unpacked last.
	// +optional
	LastUnpacked *metav1.Time `json:"lastUnpacked,omitempty"`
}

// ClusterCatalogURLs are where the content of a catalog is served.
type ClusterCatalogURLs struct {
	// base is what the endpoints stand below, such as
	// https://catalogd-service.olmv1-system.svc/catalogs/operatorhubio.
	// +kubebuilder:validation:MaxLength:=525
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (url(self).getScheme() == 'http' || url(self).getScheme() == 'https')",message="base must be an http or https URL"
	// +required
	Base string `json:"base"`
}

// ResolvedCatalogSource is what the content of a catalog was read from.
// +union
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'Image' ? has(self.image) : !has(self.image)",message="image is required when type is Image, and forbidden otherwise"
type ResolvedCatalogSource struct {
	// type is Image.
	// +unionDiscriminator
	// +kubebuilder:validation:Enum:="Image"
	// +required
	Type string `json:"type"`

	// image is the image.
	// +optional
	Image *ResolvedImageSource `json:"image,omitempty"`
}

// ResolvedImageSource is an image by its digest.
type ResolvedImageSource struct {
	// ref is the image, by its digest.
	// +kubebuilder:validation:MaxLength:=1000
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*(:[0-9]+)?/[^@]+@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}$')`,message="ref must be an image by its digest"
	// +required
	Ref string `json:"ref"`
}
