// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionPolicy says what becomes of managed objects when their Package goes.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionPolicyDelete tears the objects down in reverse phase order.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyOrphan leaves the objects and takes our label and owner
	// reference off them.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// FailurePolicy says what to do when a rollout misses its deadline.
// +kubebuilder:validation:Enum=Hold;Rollback
type FailurePolicy string

const (
	// FailureHold leaves the rollout where it is. It can still recover.
	FailureHold FailurePolicy = "Hold"
	// FailureRollback makes a new revision with the content of the newest one that
	// has succeeded.
	FailureRollback FailurePolicy = "Rollback"
)

// ApprovalPolicy says whether new content is rolled out without being asked for.
// +kubebuilder:validation:Enum=Automatic;Manual
type ApprovalPolicy string

const (
	// ApprovalAutomatic rolls out every new revision.
	ApprovalAutomatic ApprovalPolicy = "Automatic"
	// ApprovalManual withholds a new revision until spec.approvedDigest names its
	// content.
	ApprovalManual ApprovalPolicy = "Manual"
)

// PackageSpec is what an admin or a front wants of a line of revisions.
type PackageSpec struct {
	// Paused stops every write of the rollout. Observation goes on. Unset means
	// not paused.
	// +optional
	Paused *Pause `json:"paused,omitempty"`

	// RevisionHistoryLimit is how many archived revisions are kept, besides the
	// current one and the newest that has succeeded. Default 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ProgressDeadline is how long a rollout may go without progress, counted from
	// the last progress, before Progressing turns to
	// False/ProgressDeadlineExceeded. The rollout can still recover. Default 10m.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="progressDeadline must be longer than 0s, such as 10m"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// Soak is how long all probes must hold before a revision has succeeded.
	// Default 0s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="soak must not be negative"
	Soak *metav1.Duration `json:"soak,omitempty"`

	// DeletionPolicy says what becomes of the managed objects when the Package is
	// deleted. Delete tears them down in reverse phase order, Orphan releases
	// them. Retained objects stay in both cases. Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// OnFailure says what to do when progressDeadline has passed. Hold leaves the
	// rollout where it is; Rollback makes a new revision with the content of the
	// newest one that has succeeded, once for each content. Default Hold.
	// +optional
	// +kubebuilder:default=Hold
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// Approval says whether a new revision is rolled out at once. With Manual it
	// starts Paused, with reason AwaitingApproval and in status.plan what it would
	// do, until approvedDigest names its content. What has succeeded before needs no
	// approval to be kept. Default Automatic.
	// +optional
	// +kubebuilder:default=Automatic
	Approval ApprovalPolicy `json:"approval,omitempty"`

	// ApprovedDigest is the content that may be rolled out with approval Manual: the
	// digest that status.plan of the waiting revision shows. Other content, also
	// newer content, waits.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ApprovedDigest string `json:"approvedDigest,omitempty"`

	// ApprovedBy is who approved it. The policies of config/policy refuse another name
	// than that of the user who writes the approval.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ApprovedBy string `json:"approvedBy,omitempty"`

	// Gates withhold new revisions on behalf of others, such as a policy check, or
	// the running operand that has to prepare itself. Each names the content that it
	// lets through; a revision is rolled out when every gate names its digest. Each
	// actor applies its own entry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Gates []Gate `json:"gates,omitempty"`

	// ServiceAccount is who every write of an object, and every live read that
	// decides about one, is made as. Its rights bound what the Package can do.
	// Unset means the manager's own identity.
	// +optional
	ServiceAccount *ServiceAccountReference `json:"serviceAccount,omitempty"`

	// Rollback asks for a new revision with the content of an earlier one. It is
	// handled once; status.rollback says with what result.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`
}

// Gate withholds new content until its owner lets it through.
type Gate struct {
	// Name is who withholds, such as policy-check or istiod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Reason is what is waited for, for people who find a revision waiting.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// ApprovedDigest is the content that is let through. Unset lets none through.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ApprovedDigest string `json:"approvedDigest,omitempty"`

	// ApprovedBy is who let it through. The policies of config/policy refuse another name
	// than that of the user who writes the entry.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// Namespace is where it lives.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// Name is its name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Pause says who stopped the rollout, why, and until when.
type Pause struct {
	// By is who paused it. The policies of config/policy refuse another name than that
	// of the user who writes the pause.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by,omitempty"`

	// Reason is why, for people who find it paused.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// Until is when the pause ends by itself. Unset means that it stays.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[-+][0-9]{2}:[0-9]{2})$`
	// +kubebuilder:validation:XValidation:rule="self == self",message="must be a time, such as 2026-01-31T12:00:00Z"
	Until *metav1.Time `json:"until,omitempty"`
}

// Rollback is a request for a new revision with an earlier one's content.
type Rollback struct {
	// ToRevision is the number of the revision whose content is wanted. 0, the
	// default, means the newest that has succeeded before the target.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToRevision int64 `json:"toRevision,omitempty"`

	// Reason is why, for the history.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// RequestedAt tells requests apart: a request with another time is handled
	// anew, even with the same toRevision.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[-+][0-9]{2}:[0-9]{2})$`
	// +kubebuilder:validation:XValidation:rule="self == self",message="must be a time, such as 2026-01-31T12:00:00Z"
	RequestedAt metav1.Time `json:"requestedAt"`

	// By is who asks for it. The policies of config/policy refuse another name than that
	// of the user who writes the request. It stands in the history.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by,omitempty"`

	// Pin keeps a front from creating any further revision until it is taken
	// away. Without it, only the rejected content is kept out. Default false.
	// +optional
	Pin bool `json:"pin,omitempty"`
}

// PackageStatus is what was observed of a Package.
type PackageStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, Progressing and Available.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// CurrentRevision is the newest revision that has succeeded, 0 when none has.
	// +optional
	CurrentRevision int64 `json:"currentRevision,omitempty"`

	// TargetRevision is the revision that rolls out: the newest active one, or an older
	// one that is not done while newer ones wait for approval.
	// +optional
	TargetRevision int64 `json:"targetRevision,omitempty"`

	// HighestRevision is the highest number ever given. Numbers are never reused.
	// +optional
	HighestRevision int64 `json:"highestRevision,omitempty"`

	// Version is the application version of the current revision, as its origin
	// gives it.
	// +optional
	Version string `json:"version,omitempty"`

	// Phase is how many phases of the target are complete, of how many: "3/5".
	// +optional
	Phase string `json:"phase,omitempty"`

	// Probes is how many objects of the target pass their probes, of how many:
	// "11/12".
	// +optional
	Probes string `json:"probes,omitempty"`

	// Rollback is the last rollback that was handled.
	// +optional
	Rollback *RollbackStatus `json:"rollback,omitempty"`

	// AutomaticRollback is the last rollback that spec.onFailure has made. Its
	// requestedAt is when the deadline was found to have passed.
	// +optional
	AutomaticRollback *RollbackStatus `json:"automaticRollback,omitempty"`
}

// RollbackStatus is the outcome of a rollback request.
type RollbackStatus struct {
	// RequestedAt is the time of the request that was handled.
	// +required
	RequestedAt metav1.Time `json:"requestedAt"`

	// FromRevision is the revision that was the target then.
	// +optional
	FromRevision int64 `json:"fromRevision,omitempty"`

	// ToRevision is the revision whose content was asked for.
	// +optional
	ToRevision int64 `json:"toRevision,omitempty"`

	// Revision is the revision made for it, 0 when the request was refused.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// RejectedDigest is the content that the rollback rejects. A front does not
	// create it again.
	// +optional
	RejectedDigest string `json:"rejectedDigest,omitempty"`

	// Message says why a request was refused.
	// +optional
	Message string `json:"message,omitempty"`
}

// Package is a line of revisions of one operand. It owns every object that they
// manage.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=spkg,categories=strata
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentRevision`,description="Newest revision that has succeeded"
// +kubebuilder:printcolumn:name="Target",type=integer,JSONPath=`.status.targetRevision`,description="Revision that rolls out"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,description="Application version of the current revision"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`,description="What the rollout does"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Complete phases of the target"
// +kubebuilder:printcolumn:name="Probes",type=string,JSONPath=`.status.probes`,description="Objects of the target that pass their probes"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the operand serves"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must have at most 52 characters, so that the names of its revisions fit a label"
type Package struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +optional
	Spec PackageSpec `json:"spec,omitempty"`

	// Status is what was observed.
	// +optional
	Status PackageStatus `json:"status,omitempty"`
}

// PackageList is a list of Packages.
//
// +kubebuilder:object:root=true
type PackageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Package `json:"items"`
}
