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
	// CollisionNone adopts the object from whoever controls it.
	CollisionNone CollisionProtection = "None"
)

// ObjectDeletion says whether an object goes with its revision or Package.
// +kubebuilder:validation:Enum=Delete;Retain
type ObjectDeletion string

const (
	// ObjectDelete deletes the object when no revision contains it any more.
	ObjectDelete ObjectDeletion = "Delete"
	// ObjectRetain leaves the object in place, without an owner reference.
	ObjectRetain ObjectDeletion = "Retain"
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
	Revision int64 `json:"revision"`

	// LifecycleState is Active, Paused or Archived. It is the only field of the
	// spec that may change; Archived is final. Default Active.
	// +optional
	// +kubebuilder:default=Active
	LifecycleState LifecycleState `json:"lifecycleState,omitempty"`

	// Previous is the number of the revision that was the newest when this one
	// was made, 0 for the first. Immutable.
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
	// annotation helm.sh/resource-policy: keep, and Delete for all others.
	// +optional
	Deletion ObjectDeletion `json:"deletion,omitempty"`

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

// Probe says when the objects that it selects are ready. An object that several
// probes select has to satisfy all of them.
type Probe struct {
	// Name is shown in status and events.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Selector says which objects it is for.
	// +required
	Selector ProbeSelector `json:"selector"`

	// Assertions must all hold.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Assertions []Assertion `json:"assertions"`

	// Within is how long an object may be without the probe, counted from when it was
	// seen not to hold first, or from the last change of the object by the revision.
	// After that Progressing turns to False/ProgressDeadlineExceeded and names the
	// object, without waiting for the Package's progressDeadline; onFailure is heeded,
	// and the rollout can still recover. It counts until the revision has succeeded,
	// and not while that is stopped. Of several probes for an object the shortest time
	// counts. Default: progressDeadline alone counts.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="within must be longer than 0s, such as 2m"
	Within *metav1.Duration `json:"within,omitempty"`

	// HoldsFor is how long the probe must hold without interruption before the object
	// counts as ready. The time starts anew when an assertion stops to hold, and when
	// the revision changes the object. Of several probes for an object the longest
	// time counts, for all of them together. Default 0s: at once.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="holdsFor must not be negative"
	HoldsFor *metav1.Duration `json:"holdsFor,omitempty"`
}

// ProbeSelector selects objects of a revision. Every part that is set must match.
//
// +kubebuilder:validation:XValidation:rule="has(self.kind) || has(self.labels)",message="set kind, labels or both"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || has(self.kind)",message="name takes a kind"
type ProbeSelector struct {
	// Group is the API group of kind. Empty, the default, is the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind is the objects' kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Namespace selects the objects of one namespace. Empty, the default, selects
	// those of all, and those that have none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name selects by the name of the object. It takes a kind. Empty, the default,
	// selects all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Labels select by the labels of the object.
	// +optional
	Labels *metav1.LabelSelector `json:"labels,omitempty"`
}

// Assertion is one thing that must hold. It is True, False or Unknown; an object
// that does not say, as a field or condition is missing, is Unknown, which holds the
// gate like False and stays Unknown under not.
//
// +kubebuilder:validation:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel), has(self.not), has(self.anyOf)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default, cel, not and anyOf must be set"
type Assertion struct {
	// Condition requires a condition of the object's status.
	// +optional
	Condition *ConditionAssertion `json:"condition,omitempty"`

	// FieldValue requires a field to have a value.
	// +optional
	FieldValue *FieldValueAssertion `json:"fieldValue,omitempty"`

	// FieldsEqual requires two fields to be set and equal.
	// +optional
	FieldsEqual *FieldsEqualAssertion `json:"fieldsEqual,omitempty"`

	// ObservedGeneration requires .status.observedGeneration to be set and to be the
	// object's generation: its controller has looked at the present spec.
	// +optional
	ObservedGeneration *ObservedGenerationAssertion `json:"observedGeneration,omitempty"`

	// Default requires what the object is judged by when no probe selects it: that
	// it is ready as its kind understands it. The kind must be one that has a
	// default.
	// +optional
	Default *DefaultAssertion `json:"default,omitempty"`

	// CEL requires an expression to be true.
	// +optional
	CEL *CELAssertion `json:"cel,omitempty"`

	// Not requires something to be False. What is missing is Unknown and does not
	// pass; an expression of CEL can ask whether it is.
	// +optional
	Not *Check `json:"not,omitempty"`

	// AnyOf requires one or more of its alternatives to hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	AnyOf []Alternative `json:"anyOf,omitempty"`
}

// Alternative is one of several things of which one must hold.
//
// +kubebuilder:validation:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel), has(self.not)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default, cel and not must be set"
type Alternative struct {
	// Condition requires a condition of the object's status.
	// +optional
	Condition *ConditionAssertion `json:"condition,omitempty"`

	// FieldValue requires a field to have a value.
	// +optional
	FieldValue *FieldValueAssertion `json:"fieldValue,omitempty"`

	// FieldsEqual requires two fields to be set and equal.
	// +optional
	FieldsEqual *FieldsEqualAssertion `json:"fieldsEqual,omitempty"`

	// ObservedGeneration requires .status.observedGeneration to be set and to be the
	// object's generation: its controller has looked at the present spec.
	// +optional
	ObservedGeneration *ObservedGenerationAssertion `json:"observedGeneration,omitempty"`

	// Default requires what the object is judged by when no probe selects it: that
	// it is ready as its kind understands it. The kind must be one that has a
	// default.
	// +optional
	Default *DefaultAssertion `json:"default,omitempty"`

	// CEL requires an expression to be true.
	// +optional
	CEL *CELAssertion `json:"cel,omitempty"`

	// Not requires something to be False. What is missing is Unknown and does not
	// pass.
	// +optional
	Not *Check `json:"not,omitempty"`
}

// Check is one thing that an object says or does not.
//
// +kubebuilder:validation:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default and cel must be set"
type Check struct {
	// Condition requires a condition of the object's status.
	// +optional
	Condition *ConditionAssertion `json:"condition,omitempty"`

	// FieldValue requires a field to have a value.
	// +optional
	FieldValue *FieldValueAssertion `json:"fieldValue,omitempty"`

	// FieldsEqual requires two fields to be set and equal.
	// +optional
	FieldsEqual *FieldsEqualAssertion `json:"fieldsEqual,omitempty"`

	// ObservedGeneration requires .status.observedGeneration to be set and to be the
	// object's generation: its controller has looked at the present spec.
	// +optional
	ObservedGeneration *ObservedGenerationAssertion `json:"observedGeneration,omitempty"`

	// Default requires what the object is judged by when no probe selects it: that
	// it is ready as its kind understands it. The kind must be one that has a
	// default.
	// +optional
	Default *DefaultAssertion `json:"default,omitempty"`

	// CEL requires an expression to be true.
	// +optional
	CEL *CELAssertion `json:"cel,omitempty"`
}

// ConditionAssertion requires a condition to have a status. A condition that is
// missing, or about an older generation, is Unknown and holds the gate.
type ConditionAssertion struct {
	// Type is the condition's type.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Type string `json:"type"`

	// Status is what it must be. Default True.
	// +optional
	// +kubebuilder:default="True"
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	Status metav1.ConditionStatus `json:"status,omitempty"`
}

// PathPattern is what a path looks like. It lets through a few texts that are none,
// such as those with an escape that does not exist: a revision with such a path is
// refused with the reason InvalidSpec.
const PathPattern = `^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`

// FieldValueAssertion requires a field to have a value. A field that is missing is
// Unknown and holds the gate.
type FieldValueAssertion struct {
	// Path is the path of the field, such as .status.replicas,
	// .metadata.annotations["example.com/note"],
	// .spec.template.spec.containers[name=main].image or .spec.hosts[0].
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	Path string `json:"path"`

	// Value is a string, a number, or true or false. Its type matters: the string "3"
	// is not the number 3, and 3 is 3.0.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value Scalar `json:"value"`

	// Type is Quantity when value and field are amounts such as 500m and 1Gi, so that
	// 1Gi is 1024Mi and 1 is "1". Default: they are compared as they stand.
	// +optional
	Type ValueType `json:"type,omitempty"`

	// Operator is Equal, or for numbers and quantities AtLeast or AtMost. Default
	// Equal.
	// +optional
	Operator ValueOperator `json:"operator,omitempty"`
}

// ValueType says as what a field and a value are compared.
// +kubebuilder:validation:Enum=Quantity
type ValueType string

// ValueQuantity compares amounts.
const ValueQuantity ValueType = "Quantity"

// ValueOperator says how a field has to stand to a value.
// +kubebuilder:validation:Enum=Equal;AtLeast;AtMost
type ValueOperator string

const (
	// ValueEqual fields have the value.
	ValueEqual ValueOperator = "Equal"
	// ValueAtLeast fields have the value or a larger one.
	ValueAtLeast ValueOperator = "AtLeast"
	// ValueAtMost fields have the value or a smaller one.
	ValueAtMost ValueOperator = "AtMost"
)

// ObservedGenerationAssertion has no fields of its own.
type ObservedGenerationAssertion struct{}

// DefaultAssertion has no fields of its own.
type DefaultAssertion struct{}

// FieldsEqualAssertion requires two fields to be set and equal. A field that is
// missing is Unknown and holds the gate.
type FieldsEqualAssertion struct {
	// A is the path of a field, such as .status.replicas.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	A string `json:"a"`

	// B is the path of the other.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	B string `json:"b"`
}

// CELAssertion requires an expression to be true.
type CELAssertion struct {
	// Expression sees the object as self and must be of type bool. One that does not
	// compile makes the revision InvalidSpec, with line and column; one that fails, or
	// costs too much, is Unknown.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression"`

	// Message is what to say when it is false.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
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

	// CreatedBy is who made it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CreatedBy string `json:"createdBy,omitempty"`
}

// PhaseState is where a phase stands.
// +kubebuilder:validation:Enum=Pending;Progressing;Complete
type PhaseState string

const (
	// PhasePending phases wait for the ones before.
	PhasePending PhaseState = "Pending"
	// PhaseProgressing phases are applied, or wait for probes.
	PhaseProgressing PhaseState = "Progressing"
	// PhaseComplete phases have every object in place and every probe True.
	PhaseComplete PhaseState = "Complete"
)

// RevisionStatus is what was observed of a revision.
type RevisionStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Progressing, Available and Succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Phase is how many phases are complete, of how many: "3/5".
	// +optional
	Phase string `json:"phase,omitempty"`

	// Probes is how many objects pass their probes, of how many: "11/12".
	// +optional
	Probes string `json:"probes,omitempty"`

	// Phases are the phases of the spec, in order.
	// +optional
	// +listType=atomic
	Phases []PhaseStatus `json:"phases,omitempty"`

	// Objects are those that are not ready: the first 16 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Objects []ObjectStatus `json:"objects,omitempty"`

	// Inventory is what the revision has put in place, one entry an object.
	// Comparing with it tells a change of content from drift without reading the
	// object's body.
	// +optional
	// +listType=atomic
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// Plan is what the revision would do, while it is paused or waits for approval.
	// +optional
	Plan *Plan `json:"plan,omitempty"`

	// Flaps lists the objects that were ready and ceased to be so although the revision
	// did not change them: the 16 that did so last. An object that then stays ready for
	// a day is forgotten.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Flaps []Flap `json:"flaps,omitempty"`

	// Interference lists the objects that somebody else keeps changing: the 16 that
	// were changed last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Interference []Interference `json:"interference,omitempty"`

	// LastProgressTime is when the rollout moved last.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`

	// SucceededAt is when the revision had been rolled out.
	// +optional
	SucceededAt *metav1.Time `json:"succeededAt,omitempty"`

	// ArchivedAt is when the revision's own objects were gone. A revision with
	// this mark is not looked at again.
	// +optional
	ArchivedAt *metav1.Time `json:"archivedAt,omitempty"`
}

// PhaseStatus is where one phase stands.
type PhaseStatus struct {
	// Name is that of the phase.
	// +required
	Name string `json:"name"`

	// State is Pending, Progressing or Complete.
	// +required
	State PhaseState `json:"state"`

	// Objects is how many objects the phase has.
	// +required
	Objects int32 `json:"objects"`

	// Ready is how many of them are in place with their probes True.
	// +required
	Ready int32 `json:"ready"`

	// CompletedAt is when the phase was complete first.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// ObjectReference names a managed object.
type ObjectReference struct {
	// Group is the API group, empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version is the API version of the manifest.
	// +required
	Version string `json:"version"`
	// Kind is the object's kind.
	// +required
	Kind string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the object's name.
	// +required
	Name string `json:"name"`
}

// ObjectStatus is one object that is not ready.
type ObjectStatus struct {
	ObjectReference `json:",inline"`

	// Phase is the phase that it stands in.
	// +required
	Phase string `json:"phase"`

	// Reason is Collision, ApplyError, Waiting, ProbeFailed, ProbeUnknown or
	// Deleting.
	// +required
	Reason string `json:"reason"`

	// Message says what is expected and what was found. At most 1,024 bytes.
	// +optional
	Message string `json:"message,omitempty"`

	// Since is when the reason was seen first.
	// +required
	Since metav1.Time `json:"since"`

	// DueAt is by when the object has to be ready, as the probes that select it say
	// with within. After that the rollout has failed.
	// +optional
	DueAt *metav1.Time `json:"dueAt,omitempty"`

	// Hint is what to do about it.
	// +optional
	Hint string `json:"hint,omitempty"`
}

// Flap is an object that was ready and ceased to be so.
type Flap struct {
	ObjectReference `json:",inline"`

	// Count is how many times it ceased to be ready.
	// +required
	Count int64 `json:"count"`

	// LastChange is when it ceased to be ready, or was ready again, last.
	// +required
	LastChange metav1.Time `json:"lastChange"`
}

// PlannedAction is what a revision would do to an object.
// +kubebuilder:validation:Enum=Create;Update;Replace;Adopt;Collide;Delete;Retain;Wait;Unknown
type PlannedAction string

// The planned actions. Objects that would not be touched are only counted.
const (
	// PlanCreate: the object does not exist.
	PlanCreate PlannedAction = "Create"
	// PlanUpdate: its content is new, or it has drifted.
	PlanUpdate PlannedAction = "Update"
	// PlanReplace: it has to be deleted and created anew.
	PlanReplace PlannedAction = "Replace"
	// PlanAdopt: it exists and is taken over.
	PlanAdopt PlannedAction = "Adopt"
	// PlanCollide: it exists, is someone else's, and would be left alone.
	PlanCollide PlannedAction = "Collide"
	// PlanDelete: an older revision contains it, and this one does not.
	PlanDelete PlannedAction = "Delete"
	// PlanRetain: like PlanDelete, but it stays in place.
	PlanRetain PlannedAction = "Retain"
	// PlanWait: it cannot be applied yet, as its kind is not served or it is being deleted.
	PlanWait PlannedAction = "Wait"
	// PlanUnknown: its state could not be read.
	PlanUnknown PlannedAction = "Unknown"
)

// Plan is what a revision would do.
type Plan struct {
	// Digest is that of the content, to approve it by.
	// +required
	Digest string `json:"digest"`

	// Summary counts the actions: "2 create, 1 update, 1 delete, 30 unchanged".
	// +required
	Summary string `json:"summary"`

	// Objects are the first 64 that would be touched, in the order of the phases.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objects []PlannedObject `json:"objects,omitempty"`
}

// PlannedObject is what would become of one object.
type PlannedObject struct {
	ObjectReference `json:",inline"`

	// Phase is the phase that it stands in.
	// +required
	Phase string `json:"phase"`

	// Action is what would be done.
	// +required
	Action PlannedAction `json:"action"`

	// Reason is why. At most 256 bytes.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Interference is an object that somebody else keeps changing.
type Interference struct {
	ObjectReference `json:",inline"`

	// Manager is the field manager of the other one, empty when the API server keeps
	// no trace of who it was.
	// +optional
	Manager string `json:"manager,omitempty"`

	// Fields are the first 8 fields that it has changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Fields []string `json:"fields,omitempty"`

	// Count is how many times the object was repaired in a row. After the third
	// time each repair waits twice as long as the one before, up to 5 minutes.
	// +required
	Count int64 `json:"count"`

	// FirstSeen and LastSeen are when the first and the last of these repairs were.
	// +required
	FirstSeen metav1.Time `json:"firstSeen"`
	// +required
	LastSeen metav1.Time `json:"lastSeen"`
}

// InventoryEntry is what a revision knows of an object that it has put in place.
type InventoryEntry struct {
	ObjectReference `json:",inline"`

	// UID is that of the object.
	// +required
	UID string `json:"uid"`

	// Action is what the revision did to it first: Created, Updated, Unchanged or
	// Adopted.
	// +required
	Action string `json:"action"`

	// Content is a short digest of the manifest that was applied last.
	// +optional
	Content string `json:"content,omitempty"`

	// Fields is a short digest of our managedFields entry after that.
	// +optional
	Fields string `json:"fields,omitempty"`

	// Yielded are fields of the manifest that are left to whoever has set them, such
	// as the replicas that an autoscaler sets.
	// +optional
	// +listType=atomic
	Yielded []string `json:"yielded,omitempty"`

	// HeldSince is since when the object's probes hold without interruption. It is
	// kept for objects whose probes set holdsFor.
	// +optional
	HeldSince *metav1.Time `json:"heldSince,omitempty"`
}

// Revision is one immutable, phased content of a Package.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rev,categories=strata
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
