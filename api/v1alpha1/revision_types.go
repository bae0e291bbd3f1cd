// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// LifecycleState says whether a revision takes part in the rollout.
// +kubebuilder:validation:Enum=Active;Paused;Archived
type LifecycleState string

const (
	// LifecycleActive revisions are rolled out and kept.
	LifecycleActive LifecycleState = "Active"
	// LifecyclePaused revisions are observed, and nothing is written for them.
	LifecyclePaused LifecycleState = "Paused"
	// LifecycleArchived revisions are history. The state is final.
	LifecycleArchived LifecycleState = "Archived"
)

// CollisionProtection says what to do with an object that exists already and is
// not the Package's.
// +kubebuilder:validation:Enum=Prevent;IfNoController;None
type CollisionProtection string

const (
	// CollisionPrevent refuses every object that the Package did not create.
	CollisionPrevent CollisionProtection = "Prevent"
	// CollisionIfNoController adopts an object that no controller owns.
	CollisionIfNoController CollisionProtection = "IfNoController"
	// CollisionNone adopts the object from its controller.
	CollisionNone CollisionProtection = "None"
)

// ObjectDeletion says whether an object goes with its revision or Package.
// +kubebuilder:validation:Enum=Delete;Retain;DeleteUnused
type ObjectDeletion string

const (
	// ObjectDelete deletes the object when no revision contains it any more.
	ObjectDelete ObjectDeletion = "Delete"
	// ObjectRetain leaves the object in place, without an owner reference.
	ObjectRetain ObjectDeletion = "Retain"
	// ObjectDeleteUnused deletes a CustomResourceDefinition when no revision contains it any more
	// and no custom resource of it exists, and leaves it in place, without an owner reference, when
	// there are some or they cannot be listed. Objects of other kinds are deleted.
	ObjectDeleteUnused ObjectDeletion = "DeleteUnused"
)

// RevisionSpec is the immutable content of a revision, and its lifecycleState.
//
// +kubebuilder:validation:XValidation:rule="self.__package__ == oldSelf.__package__",message="spec.package is immutable: create a new Revision"
// +kubebuilder:validation:XValidation:rule="self.revision == oldSelf.revision",message="spec.revision is immutable: create a new Revision"
// +kubebuilder:validation:XValidation:rule="self.phases == oldSelf.phases",message="spec.phases is immutable: create a new Revision with the next number"
// +kubebuilder:validation:XValidation:rule="has(self.probes) == has(oldSelf.probes) && (!has(self.probes) || self.probes == oldSelf.probes)",message="spec.probes is immutable: create a new Revision with the next number"
// +kubebuilder:validation:XValidation:rule="has(self.previous) == has(oldSelf.previous) && (!has(self.previous) || self.previous == oldSelf.previous)",message="spec.previous is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.contentDigest) == has(oldSelf.contentDigest) && (!has(self.contentDigest) || self.contentDigest == oldSelf.contentDigest)",message="spec.contentDigest is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.origin) == has(oldSelf.origin) && (!has(self.origin) || self.origin == oldSelf.origin)",message="spec.origin is immutable"
// +kubebuilder:validation:XValidation:rule="oldSelf.lifecycleState != 'Archived' || self.lifecycleState == 'Archived'",message="spec.lifecycleState Archived is final: roll back to the revision instead"
type RevisionSpec struct {
	// Package is the name of the Package that this revision belongs to. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Package string `json:"package"`

	// Revision is the number in the line, from 1. It is unique, and never reused.
	// Immutable.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=999999999
	Revision int64 `json:"revision"`

	// LifecycleState is Active, Paused or Archived. It is the only field of the
	// spec that may change; Archived is final. Default Active.
	// +optional
	// +kubebuilder:default=Active
	LifecycleState LifecycleState `json:"lifecycleState,omitempty"`

	// Previous is the number of the revision that was the newest when this one
	// was made, 0 for the first; of a rollback, the one that it goes back from. Immutable.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Previous int64 `json:"previous,omitempty"`

	// Phases are rolled out in order: a phase starts when every object of the one
	// before is in place and its probes say True. Immutable.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Phases []Phase `json:"phases"`

	// Probes decide when an object is ready. An object that no probe selects is
	// judged by the default of its kind. Immutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Probes []Probe `json:"probes,omitempty"`

	// ContentDigest is "sha256:" and the digest of phases and probes, whether
	// their objects stand inline or in slices. Two revisions with the same digest
	// have the same content. Checked before a rollout when set. Immutable.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ContentDigest string `json:"contentDigest,omitempty"`

	// Origin is where the content comes from: who made it, from what, why.
	// Immutable.
	// +optional
	Origin *Origin `json:"origin,omitempty"`
}

// Phase is a group of objects that are applied together.
type Phase struct {
	// Name is unique in the revision, a DNS label.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// CollisionProtection is for the objects of this phase that set none of their
	// own. Default Prevent.
	// +optional
	CollisionProtection CollisionProtection `json:"collisionProtection,omitempty"`

	// Objects are applied concurrently.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2048
	Objects []Object `json:"objects,omitempty"`
}

// ImmutableChange says what to do when a change of an object needs another value in
// a field that the API server does not let anyone change.
// +kubebuilder:validation:Enum=Refuse;Replace
type ImmutableChange string

const (
	// ImmutableRefuse leaves the object as it is and tells the path.
	ImmutableRefuse ImmutableChange = "Refuse"
	// ImmutableReplace deletes the object and creates it anew.
	ImmutableReplace ImmutableChange = "Replace"
)

// Object is one manifest, inline, in an ObjectSlice or in a Secret.
//
// +kubebuilder:validation:XValidation:rule="[has(self.object), has(self.slice), has(self.secret)].filter(x, x).size() == 1",message="exactly one of object, slice and secret must be set"
type Object struct {
	// Object is the manifest. Secrets must not stand here.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Object *runtime.RawExtension `json:"object,omitempty"`

	// Slice says where the manifest is when it is too large to stand inline.
	// +optional
	Slice *SliceReference `json:"slice,omitempty"`

	// Secret says where a manifest of kind Secret is. Such manifests stand neither
	// inline nor in slices, where everyone who may read Revisions could read them.
	// +optional
	Secret *SecretReference `json:"secret,omitempty"`

	// CollisionProtection is what to do when the object exists and is not ours.
	// It wins over that of the phase. Default: the phase's.
	// +optional
	CollisionProtection CollisionProtection `json:"collisionProtection,omitempty"`

	// Deletion says whether the object goes with its revision or Package. The
	// default is Retain for CustomResourceDefinition, Namespace,
	// PersistentVolumeClaim and PersistentVolume and for objects with the
	// annotation helm.sh/resource-policy: keep, and Delete for all others. DeleteUnused deletes
	// a CustomResourceDefinition unless custom resources of it exist.
	// +optional
	Deletion ObjectDeletion `json:"deletion,omitempty"`

	// CreateOnce says that the object is created once for its content: when it is gone, it is
	// created again only when its content changes. Default false. A Job that has completed
	// is treated so in any case.
	// +optional
	CreateOnce bool `json:"createOnce,omitempty"`

	// UnmanagedFields are fields of the manifest that are never applied, so that
	// others may set them: paths such as .spec.replicas,
	// .metadata.annotations['example.com/note'] or
	// .spec.template.spec.containers[name=main].resources; [*] stands for every item
	// of a list. Fields that are not in the manifest need no entry: they are never
	// touched. Default none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	UnmanagedFields []string `json:"unmanagedFields,omitempty"`

	// ExclusiveFields are paths of which the manifest says all there is: what another
	// manager adds at or below one of them is removed, such as a rule in .spec.egress
	// or a port in .spec.ports. Paths are written as in unmanagedFields, which win.
	// Values that the API server or an admission webhook fills in belong to no manager
	// and stay. Default none: what the manifest does not set is left alone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	ExclusiveFields []string `json:"exclusiveFields,omitempty"`

	// UpdatePhase is the name of a later phase of the revision, in which an object that
	// the Package has already is brought to new content. Until then it stays as the
	// revision before has it. It is created in its own phase when it is absent, and is
	// torn down with that. It is for what pods need in order to start, and what must
	// not reach pods that run before the new ones have proved themselves. A rollback
	// does not wait, as its content has proved itself, and older pods may not start with
	// newer content. Default: the object's own phase.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	UpdatePhase string `json:"updatePhase,omitempty"`

	// OnImmutableChange is what to do when a change needs another value in a field
	// that the API server does not let anyone change, such as a Deployment's
	// selector. Refuse leaves the object as it is and tells the path; Replace
	// deletes it and creates it anew, which interrupts what it does. Default Refuse.
	// +optional
	OnImmutableChange ImmutableChange `json:"onImmutableChange,omitempty"`
}

// SliceReference names one manifest in an ObjectSlice.
type SliceReference struct {
	// Name is that of the ObjectSlice.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Name string `json:"name"`

	// Index is the manifest's place in the slice, from 0, the default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index,omitempty"`
}

// SecretReference names one manifest in a Secret of the manager's namespace. Such a
// Secret is immutable, of type strata.run/manifests and named like an ObjectSlice by
// its content.
type SecretReference struct {
	// Name is that of the Secret.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Name string `json:"name"`

	// Index is the manifest's place in it, from 0, the default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index,omitempty"`
}

// OriginKind says by what way a revision came to be.
// +kubebuilder:validation:Enum=Front;CLI;Rollback;HelmImport
type OriginKind string

const (
	// OriginFront revisions are rendered by a front from a custom resource.
	OriginFront OriginKind = "Front"
	// OriginCLI revisions are made by the command line.
	OriginCLI OriginKind = "CLI"
	// OriginRollback revisions repeat the content of an earlier one.
	OriginRollback OriginKind = "Rollback"
	// OriginHelmImport revisions take over a Helm release.
	OriginHelmImport OriginKind = "HelmImport"
)

// Origin is where a revision's content comes from.
type Origin struct {
	// Kind says by what way the revision came to be.
	// +required
	Kind OriginKind `json:"kind"`

	// Reference is what it was made from, as KIND/NAME: the custom resource, or
	// the revision that is repeated.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reference string `json:"reference,omitempty"`

	// Generation is that of the referenced object.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Chart is the chart's name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Chart string `json:"chart,omitempty"`

	// AppVersion is the version of what runs, such as 1.29.1.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AppVersion string `json:"appVersion,omitempty"`

	// Identity says what the content is, such as a bundle and its version, where that makes it
	// other content although its objects are the same. It is part of contentDigest. Default:
	// the objects alone say what the content is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Identity string `json:"identity,omitempty"`

	// RollbackMinors is how many minor versions of appVersion a rollback from this
	// revision may go back at once. One that goes further, or to another major version,
	// is refused, unless the Package's annotation strata.run/allow-version names the
	// version. Default: any.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RollbackMinors *int32 `json:"rollbackMinors,omitempty"`

	// Images are the image references of the content, sorted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Images []string `json:"images,omitempty"`

	// Reason is why the revision was made, for the history.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// CreatedBy is who made it; of a rollback, who asked for it. It is empty when the
	// manager made it by itself, for a front or for spec.onFailure. The policies of
	// config/policy refuse another name than that of the user who creates the Revision.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CreatedBy string `json:"createdBy,omitempty"`
}

// Revision is one immutable, phased content of a Package.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=srev,categories=strata
// +kubebuilder:selectablefield:JSONPath=`.spec.package`
// +kubebuilder:printcolumn:name="Package",type=string,JSONPath=`.spec.package`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.origin.appVersion`
// +kubebuilder:printcolumn:name="Lifecycle",type=string,JSONPath=`.spec.lifecycleState`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Probes",type=string,JSONPath=`.status.probes`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Origin",type=string,priority=1,JSONPath=`.spec.origin.reference`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.spec.origin.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == '%s-%d'.format([self.spec.__package__, self.spec.revision])",message="metadata.name must be spec.package, a hyphen and spec.revision"
type Revision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the content, immutable except for lifecycleState.
	// +required
	Spec RevisionSpec `json:"spec"`

	// Status is what was observed.
	// +optional
	Status RevisionStatus `json:"status,omitempty"`
}

// RevisionList is a list of Revisions.
//
// +kubebuilder:object:root=true
type RevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Revision `json:"items"`
}

// RevisionName is the name of a package's revision: the package, a hyphen and
// the number.
func RevisionName(pkg string, revision int64) string {
	return pkg + "-" + strconv.FormatInt(revision, 10)
}
