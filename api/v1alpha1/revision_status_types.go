// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// a day is forgotten. Those that did so several times in a row stand in interference, too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Flaps []Flap `json:"flaps,omitempty"`

	// Interference lists the objects that do not stay as they were left, as another client
	// changes, deletes or takes over each of them, or as they flap: the 16 that were found so
	// last. An object that stays as it was left for 10 minutes is forgotten.
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

	// Reason is Collision, ApplyError, Interference, Waiting, ProbeFailed, ProbeUnknown or
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
	// PlanReplace: it has to be deleted and created again.
	PlanReplace PlannedAction = "Replace"
	// PlanAdopt: it exists and is taken over.
	PlanAdopt PlannedAction = "Adopt"
	// PlanCollide: it exists, has another owner, and would be left alone.
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

// InterferenceCause is how an object ceased to be as it was left.
// +kubebuilder:validation:Enum=Changed;Deleted;TakenOver;Flapping
type InterferenceCause string

const (
	// InterferenceChanged: fields of it were changed or removed.
	InterferenceChanged InterferenceCause = "Changed"
	// InterferenceDeleted: it was deleted, or deleted and created again.
	InterferenceDeleted InterferenceCause = "Deleted"
	// InterferenceTakenOver: another controller has taken it over.
	InterferenceTakenOver InterferenceCause = "TakenOver"
	// InterferenceFlapping: it ceased to be ready, without having been written.
	InterferenceFlapping InterferenceCause = "Flapping"
)

// Interference is an object that does not stay as it was left.
type Interference struct {
	ObjectReference `json:",inline"`

	// Cause is what was found last: Changed, Deleted, TakenOver or Flapping. An object that
	// was taken over is not taken back, and one that flaps is not written. It has an entry of
	// its own for that.
	// +optional
	Cause InterferenceCause `json:"cause,omitempty"`

	// Manager is the field manager that has changed the object, or the controller that has
	// taken it over; empty when the API server keeps no trace of it, as for a deletion.
	// +optional
	Manager string `json:"manager,omitempty"`

	// Fields are the first 8 fields that the manager has changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Fields []string `json:"fields,omitempty"`

	// Count is how many times in a row the object was found so, and repaired where that can
	// be. After the third time each repair waits twice as long as the one before, up to 5 minutes, and
	// longer while many objects of the package are repaired.
	// +required
	Count int64 `json:"count"`

	// FirstSeen and LastSeen are when the first and the last of these times were.
	// +required
	FirstSeen metav1.Time `json:"firstSeen"`
	// +required
	LastSeen metav1.Time `json:"lastSeen"`

	// NextRepair is when the object may be repaired again.
	// +optional
	NextRepair *metav1.Time `json:"nextRepair,omitempty"`
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

	// State is the object's generation after that and a short digest of our labels and
	// annotations, or its resourceVersion when its kind has no generation: managedFields do
	// not tell two applies of one second apart. It is settled when there is nothing left to
	// tell apart.
	// +optional
	State string `json:"state,omitempty"`

	// IgnoredFields are fields of the manifest that are left to another manager, such as the
	// replicas that an autoscaler sets. A field is taken back when no such manager has it
	// any more, or when its value in the manifest changes.
	// +optional
	// +listType=atomic
	IgnoredFields []string `json:"ignoredFields,omitempty"`

	// ManifestValues are short digests of what the manifest sets in these fields, in
	// their order.
	// +optional
	// +listType=atomic
	ManifestValues []string `json:"manifestValues,omitempty"`

	// Repairs is how many times in a row the object was found changed, deleted or taken
	// over, and NextRepair when it may be repaired again.
	// +optional
	Repairs int64 `json:"repairs,omitempty"`
	// +optional
	NextRepair *metav1.Time `json:"nextRepair,omitempty"`

	// Completed says that the object has done its work, as a Job does once. When it is
	// gone it is created again only when its content changes.
	// +optional
	Completed bool `json:"completed,omitempty"`

	// HeldSince is since when the object's probes hold without interruption. It is
	// kept for objects whose probes set holdsFor.
	// +optional
	HeldSince *metav1.Time `json:"heldSince,omitempty"`

	// WasReady says that the object has been ready with its content. It is kept until the
	// revision has succeeded: an object that is ready again is no progress of a rollout.
	// +optional
	WasReady bool `json:"wasReady,omitempty"`
}
