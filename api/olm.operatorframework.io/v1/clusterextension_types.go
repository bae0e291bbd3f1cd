// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterExtension asks for an extension of the cluster, such as an operator with its
// CustomResourceDefinitions. A bundle of the package that it names is looked up in the catalogs of
// the cluster, and what the bundle holds is rolled out as a revision of a Strata Package.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterextensions,scope=Cluster
// +kubebuilder:printcolumn:name="Installed Bundle",type=string,JSONPath=`.status.install.bundle.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.install.bundle.version`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.conditions[?(@.type=='Installed')].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=='Progressing')].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Available",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Available')].status`
// +kubebuilder:printcolumn:name="Deprecated",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Deprecated')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Progressing')].message`
// +kubebuilder:metadata:labels={"strata.run/front=clusterextension"}
type ClusterExtension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	Spec ClusterExtensionSpec `json:"spec,omitempty"`

	// status is what was observed. Written by the manager only.
	// +optional
	Status ClusterExtensionStatus `json:"status,omitempty"`
}

// ClusterExtensionList is a list of ClusterExtensions.
//
// +kubebuilder:object:root=true
type ClusterExtensionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the ClusterExtensions.
	Items []ClusterExtension `json:"items"`
}

// ClusterExtensionSpec is what is wanted of an extension.
type ClusterExtensionSpec struct {
	// namespace is where the namespaced objects of the extension are installed, such as its
	// Deployment. It must exist: it is not created. Immutable.
	// +kubebuilder:validation:MaxLength:=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace is immutable: to install into another one, delete the ClusterExtension and create it again"
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,message="namespace must be the name of a namespace: lower case letters, digits and -, beginning and ending with a letter or digit"
	// +required
	Namespace string `json:"namespace"`

	// serviceAccount names a ServiceAccount in namespace with whose rights the objects of the
	// extension are written. It may be taken away later, but not changed to another one.
	// Default: the rights of the manager.
	// +optional
	ServiceAccount *ServiceAccountReference `json:"serviceAccount,omitempty"`

	// source is where the extension comes from.
	// +required
	Source SourceConfig `json:"source"`

	// install is about how the extension is installed.
	// +optional
	Install *InstallConfig `json:"install,omitempty"`

	// config is the configuration of the extension. What it may hold is defined by the bundle.
	// +optional
	Config *ExtensionConfig `json:"config,omitempty"`

	// progressDeadlineMinutes is after how many minutes without progress Progressing becomes False
	// with the reason ProgressDeadlineExceeded. Default: it stays True, and its message names the time of
	// the last progress.
	// +kubebuilder:validation:Minimum:=10
	// +kubebuilder:validation:Maximum:=720
	// +optional
	ProgressDeadlineMinutes int32 `json:"progressDeadlineMinutes,omitempty"`
}

// ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// name is that of the ServiceAccount.
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name cannot be changed to another ServiceAccount: remove serviceAccount first"
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')`,message="name must be the name of a ServiceAccount: lower case letters, digits, - and ., beginning and ending with a letter or digit"
	// +required
	Name string `json:"name"`
}

// SourceTypeCatalog is the value of [SourceConfig] for a package in catalogs.
const SourceTypeCatalog = "Catalog"

// SourceConfig is where an extension comes from.
// +union
// +kubebuilder:validation:XValidation:rule="has(self.sourceType) && self.sourceType == 'Catalog' ? has(self.catalog) : !has(self.catalog)",message="catalog is required when sourceType is Catalog, and forbidden otherwise"
type SourceConfig struct {
	// sourceType is Catalog: a package in the ClusterCatalogs of the cluster.
	// +unionDiscriminator
	// +kubebuilder:validation:Enum:="Catalog"
	// +required
	SourceType string `json:"sourceType"`

	// catalog says which package, and which of its bundles may be installed.
	// +unionMember
	// +optional
	Catalog *CatalogFilter `json:"catalog,omitempty"`
}

// The values of upgradeConstraintPolicy.
const (
	// PolicyCatalogProvided installs only what the catalog names as a successor of the installed
	// bundle.
	PolicyCatalogProvided = "CatalogProvided"
	// PolicySelfCertified installs any version in range, older ones too.
	PolicySelfCertified = "SelfCertified"
)

// CatalogFilter says which bundles of which package may be installed.
type CatalogFilter struct {
	// packageName is the name of the package in the catalogs. Immutable.
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="packageName is immutable: for another package, create another ClusterExtension"
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')`,message="packageName must consist of lower case letters, digits, - and ., beginning and ending with a letter or digit"
	// +required
	PackageName string `json:"packageName"`

	// version is a version, or a range of versions: 1.2.3, 1.2.x, ">=1.2.0 <2.0.0", "^1.2 || ^3".
	// Terms are joined by a blank or comma when all have to hold, and by || when one has to.
	// Pre-releases are in range only when a term names one. Default: any version.
	// +kubebuilder:validation:MaxLength:=64
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^\s*(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*v?(0|[1-9]\d*|[xX*])([.](0|[1-9]\d*|[xX*])){0,2}(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?((\s+|\s*,\s*|\s*\|\|\s*)(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*v?(0|[1-9]\d*|[xX*])([.](0|[1-9]\d*|[xX*])){0,2}(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?)*\s*$')`,message="version must be a version or a range of versions, such as 1.2.3, 1.2.x, \">=1.2.0 <2.0.0\" or \"^1.2 || ^3\": remove it to allow any version"
	// +optional
	Version string `json:"version,omitempty"`

	// channels are those that the bundle may come from. Default: any channel.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems:=256
	// +kubebuilder:validation:items:MaxLength:=253
	// +kubebuilder:validation:items:XValidation:rule=`self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')`,message="each of channels must consist of lower case letters, digits, - and ., beginning and ending with a letter or digit"
	// +optional
	Channels []string `json:"channels,omitempty"`

	// selector selects the ClusterCatalogs that are looked at, by their labels. One of them by its
	// name: matchLabels with olm.operatorframework.io/metadata.name. Default: all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// upgradeConstraintPolicy is CatalogProvided or SelfCertified. With CatalogProvided an installed
	// bundle is only followed by one that the catalog names as its successor. SelfCertified allows
	// any version in range, older ones too: whether the extension survives that is for the user to
	// verify. Default CatalogProvided.
	// +kubebuilder:default:=CatalogProvided
	// +kubebuilder:validation:Enum:="CatalogProvided";"SelfCertified"
	// +optional
	UpgradeConstraintPolicy string `json:"upgradeConstraintPolicy,omitempty"`
}

// InstallConfig is about how an extension is installed.
type InstallConfig struct {
	// preflight is about the checks before a bundle is installed. It is required in install.
	// +required
	Preflight *PreflightConfig `json:"preflight"`
}

// PreflightConfig is about the checks before a bundle is installed.
type PreflightConfig struct {
	// crdUpgradeSafety is about the check of CustomResourceDefinitions. It is required in preflight.
	// +required
	CRDUpgradeSafety *CRDUpgradeSafetyConfig `json:"crdUpgradeSafety"`
}

// The values of enforcement.
const (
	// EnforcementStrict holds back an unsafe change.
	EnforcementStrict = "Strict"
	// EnforcementNone lets an unsafe change through.
	EnforcementNone = "None"
)

// CRDUpgradeSafetyConfig is about the check of CustomResourceDefinitions.
type CRDUpgradeSafetyConfig struct {
	// enforcement is Strict or None. Strict holds a bundle back whose CustomResourceDefinitions
	// could break custom resources that exist, such as by removing a field. None lets it through.
	// Without install it is Strict.
	// +kubebuilder:validation:Enum:="None";"Strict"
	// +required
	Enforcement string `json:"enforcement"`
}

// ConfigTypeInline is the value of [ExtensionConfig] for a configuration in the ClusterExtension.
const ConfigTypeInline = "Inline"

// ExtensionConfig is the configuration of an extension.
// +union
// +kubebuilder:validation:XValidation:rule="has(self.configType) && self.configType == 'Inline' ? has(self.inline) : !has(self.inline)",message="inline is required when configType is Inline, and forbidden otherwise"
type ExtensionConfig struct {
	// configType is Inline: the configuration stands in inline.
	// +unionDiscriminator
	// +kubebuilder:validation:Enum:="Inline"
	// +required
	ConfigType string `json:"configType"`

	// inline is the configuration, as the bundle defines it. A bundle in the format registry+v1 takes
	// watchNamespace and deploymentConfig, a Helm chart its values.
	// +kubebuilder:validation:Type:=object
	// +kubebuilder:validation:MinProperties:=1
	// +kubebuilder:pruning:PreserveUnknownFields
	// +unionMember
	// +optional
	Inline *runtime.RawExtension `json:"inline,omitempty"`
}

// ClusterExtensionStatus is what was observed of an extension.
type ClusterExtensionStatus struct {
	// conditions are Installed, Progressing, Available, Deprecated, PackageDeprecated,
	// ChannelDeprecated and BundleDeprecated. All of them are there after the first pass.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// install is what is installed. It is empty until a bundle has been installed.
	// +optional
	Install *InstallStatus `json:"install,omitempty"`

	// activeRevisions are the revisions that are not archived: the installed one, and those that are
	// being rolled out.
	// +listType=map
	// +listMapKey=name
	// +optional
	ActiveRevisions []RevisionStatus `json:"activeRevisions,omitempty"`
}

// InstallStatus is what is installed.
type InstallStatus struct {
	// bundle is the installed bundle.
	// +required
	Bundle BundleMetadata `json:"bundle"`
}

// BundleMetadata says which bundle it is.
type BundleMetadata struct {
	// name is that of the bundle in its catalog.
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')`,message="name must consist of lower case letters, digits, - and ., beginning and ending with a letter or digit"
	// +kubebuilder:validation:MaxLength:=253
	// +required
	Name string `json:"name"`

	// version is the version of the bundle: one to three numbers, a pre-release, build metadata.
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(0|[1-9]\d*)([.](0|[1-9]\d*)){0,2}(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')`,message="version must be a semantic version, such as 1.2.3"
	// +kubebuilder:validation:MaxLength:=253
	// +required
	Version string `json:"version"`

	// release tells bundles of one version apart, where the bundle has one.
	// +kubebuilder:validation:MaxLength:=20
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches('^[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*$')`,message="release must consist of identifiers of letters, digits and -, separated by dots"
	// +optional
	Release *string `json:"release,omitempty"`
}

// RevisionStatus is where a revision of an extension stands.
type RevisionStatus struct {
	// name is that of the Revision.
	// +required
	Name string `json:"name"`

	// conditions are Progressing and Available of the Revision. The installed revision has none
	// here: its state is that of the ClusterExtension.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
