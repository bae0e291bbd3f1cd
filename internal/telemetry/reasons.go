// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

// Events of a rollout.
const (
	// ReasonRevisionCreated (Normal, on a Package): there is a new revision of it.
	ReasonRevisionCreated = "RevisionCreated"

	// ReasonPhaseStarted (Normal, on a Revision): objects of a phase are being applied,
	// and the phase is not complete yet. A phase that is complete at once has no such
	// event.
	ReasonPhaseStarted = "PhaseStarted"

	// ReasonPhaseCompleted (Normal, on a Revision): one or more phases are complete. The
	// last one is reported by Succeeded, unless it still has to hold.
	ReasonPhaseCompleted = "PhaseCompleted"

	// ReasonSucceeded (Normal, on a Revision): the revision is rolled out.
	ReasonSucceeded = "Succeeded"

	// ReasonHandedOver (Normal, on a Package): a newer revision has succeeded, and is
	// what runs instead of an older one.
	ReasonHandedOver = "HandedOver"

	// ReasonRolledBack (Normal, on a Package): a revision with the content of an earlier
	// one was made, because spec.rollback asks for it, or spec.onFailure.
	ReasonRolledBack = "RolledBack"

	// ReasonRollbackRefused (Warning, on a Package): spec.rollback names a revision that
	// cannot be rolled back to.
	ReasonRollbackRefused = "RollbackRefused"

	// ReasonPaused (Normal, on a Package): nothing is written until it is resumed.
	ReasonPaused = "Paused"

	// ReasonResumed (Normal, on a Package): the pause is over.
	ReasonResumed = "Resumed"

	// ReasonAwaitingApproval (Normal, on a Revision): the revision waits for spec.approvedDigest,
	// or for a gate.
	ReasonAwaitingApproval = "AwaitingApproval"

	// ReasonApproved (Normal, on a Revision): what the revision waited for has come.
	ReasonApproved = "Approved"
)

// Events of a rollout that does not go on.
const (
	// ReasonDeadlineExceeded (Warning, on a Revision): nothing has moved for the package's
	// progressDeadline.
	ReasonDeadlineExceeded = "DeadlineExceeded"

	// ReasonCollision (Warning, on a Revision): an object exists that another owner controls.
	ReasonCollision = "Collision"

	// ReasonPermissionDenied (Warning, on a Revision): the package's identity lacks a right.
	// While the package is being deleted, and when the identity itself cannot be taken
	// on, the event stands on the Package.
	ReasonPermissionDenied = "PermissionDenied"

	// ReasonPreflightFailed (Warning, on a Revision): nothing is written, since some of it
	// would be refused or do harm.
	ReasonPreflightFailed = "PreflightFailed"

	// ReasonContentUnavailable (Warning, on a Revision): what the revision refers to is
	// missing or was altered.
	ReasonContentUnavailable = "ContentUnavailable"

	// ReasonInvalidSpec (Warning, on a Revision): the content cannot be rolled out, whatever
	// the cluster does.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonRolloutError (Warning, on a Revision): the API server has refused an object, or
	// a read has failed. It stands on the Package when its revisions could not be looked
	// at.
	ReasonRolloutError = "RolloutError"
)

// Events of what is rolled out.
const (
	// ReasonProbeFailing (Warning, on a Revision): a probe that has held does not hold any
	// more.
	ReasonProbeFailing = "ProbeFailing"

	// ReasonRecovered (Normal, on a Revision): the objects of the revision are available again.
	ReasonRecovered = "Recovered"

	// ReasonDriftCorrected (Normal, on a Revision): objects were changed or deleted by another
	// client, and were repaired. There is one event for all objects of a pass.
	ReasonDriftCorrected = "DriftCorrected"

	// ReasonInterference (Warning, on a Revision): an object does not stay as it was left, as
	// another client keeps changing or deleting it, so that its repairs are slowed from now on;
	// as another controller has taken it over; or as it ceases to be ready again and again.
	ReasonInterference = "Interference"
)

// Events of what goes.
const (
	// ReasonArchived (Normal, on a Revision): the revision is archived, and the objects
	// that only it contained are deleted.
	ReasonArchived = "Archived"

	// ReasonRetained (Normal, on a Revision): objects stay on purpose although their
	// revision is archived, or their package is gone. In the latter case the event stands
	// on the Package.
	ReasonRetained = "Retained"

	// ReasonPruned (Normal, on a Package): archived revisions beyond revisionHistoryLimit
	// were deleted.
	ReasonPruned = "Pruned"

	// ReasonTeardownStuck (Warning, on a Package): the package is being deleted, for longer
	// than its progressDeadline.
	ReasonTeardownStuck = "TeardownStuck"
)

// Events of Gateway API.
const (
	// ReasonControlPlaneInstalled (Normal, on a GatewayClass): istiod serves.
	ReasonControlPlaneInstalled = "ControlPlaneInstalled"

	// ReasonControlPlaneFailed (Warning, on a GatewayClass): istiod cannot be installed, or
	// does not serve any more.
	ReasonControlPlaneFailed = "ControlPlaneFailed"

	// ReasonCRDsManaged (Normal, on a GatewayClass): it is clear who manages the Istio
	// CRDs: this manager or OLM.
	ReasonCRDsManaged = "CRDsManaged"

	// ReasonCRDsNotManaged (Warning, on a GatewayClass): the Istio CRDs are a third party's,
	// or have several managers, and are left alone.
	ReasonCRDsNotManaged = "CRDsNotManaged"

	// ReasonAddedLabel (Normal, on a Gateway): it got the label by which istiod knows that
	// it serves it.
	ReasonAddedLabel = "AddedLabel"

	// ReasonRemovedLabel (Normal, on a Gateway): it has moved to the class of another
	// controller, and lost the label that the manager had put there.
	ReasonRemovedLabel = "RemovedLabel"

	// ReasonNoRoomForCondition (Warning, on a Gateway or GatewayClass): it, or one of its
	// listeners, has as many conditions of other controllers as it takes, so that ours cannot be shown.
	ReasonNoRoomForCondition = "NoRoomForCondition"

	// ReasonNoRecordFinalizer (Warning, on a Gateway): the DNS config has zones, and it is not
	// known which controller publishes records on the platform, so that records which are
	// deleted may stay in the zones.
	ReasonNoRecordFinalizer = "NoRecordFinalizer"
)
