// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Package is one package that a front wants to run.
type Package struct {
	// Name is the name of the Package object.
	Name string

	// Phases are rolled out in order.
	Phases []Phase

	// Probes decide when an object is ready; objects that none selects have the
	// default of their kind.
	Probes []v1alpha1.Probe

	// Origin is recorded in every revision made from this. Its identity is part of the content.
	Origin v1alpha1.Origin

	// Labels and Annotations are set on every revision made from this. When only they change, the
	// revision gets them, and no new one is made. Others are left alone.
	Labels, Annotations map[string]string

	// Settings are fields of the Package that the front keeps as they are here. All others belong to
	// admins, as do all of them when it is nil.
	Settings *Settings

	// After names packages that must have rolled out their newest content before
	// this one gets a new revision.
	After []string

	// Blocked says why the package gets no new revision for now: what runs stays as it
	// is, and a package that does not exist is not made. Empty blocks nothing.
	Blocked string

	// MayShrink says that the content may well have less than half of the objects of
	// what runs, which else is taken for a mistake: it follows what users ask for.
	MayShrink bool
}

// Settings are what a front sets of a Package.
type Settings struct {
	// ServiceAccount is who objects are written as, nil for the manager.
	ServiceAccount *v1alpha1.ServiceAccountReference
	// ProgressDeadline is how long a rollout may go without progress, 0 for the API's default.
	ProgressDeadline time.Duration
	// AllowUnsafeCRDs lets changes of CustomResourceDefinitions through that may break custom
	// resources.
	AllowUnsafeCRDs bool
	// Approval and OnFailure are set unless they are empty.
	Approval  v1alpha1.ApprovalPolicy
	OnFailure v1alpha1.FailurePolicy
	// PauseReason pauses the package, and ends that pause when it is empty again.
	PauseReason string
}

// Phase is a group of objects that are applied together.
type Phase struct {
	// Name is unique in the package, a DNS label.
	Name string

	// CollisionProtection is for objects that set none. Default Prevent.
	CollisionProtection v1alpha1.CollisionProtection

	// Objects are applied concurrently. Their order has no meaning; it is kept, so
	// that the content's digest is stable.
	Objects []Object
}

// Object is one manifest and how to treat it.
type Object struct {
	// Manifest is the desired state: no status, no fields that belong to another manager.
	Manifest *unstructured.Unstructured

	// CollisionProtection wins over the phase's.
	CollisionProtection v1alpha1.CollisionProtection

	// Deletion is empty for the default of the object's kind.
	Deletion v1alpha1.ObjectDeletion

	// OnImmutableChange is empty for the default, Refuse.
	OnImmutableChange v1alpha1.ImmutableChange

	// UnmanagedFields are paths of the manifest that are never applied.
	UnmanagedFields []string

	// CreateOnce says that the object is created once for its content.
	CreateOnce bool

	// ExclusiveFields are paths at and below which there is nothing but what the
	// manifest has.
	ExclusiveFields []string

	// UpdatePhase is the later phase in which an object that exists is brought to new
	// content, empty for the object's own.
	UpdatePhase string
}
