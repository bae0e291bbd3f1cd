// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of Revision and Package.
const (
	// ConditionProgressing is True while a rollout changes the cluster and False
	// when it is done or cannot go on; the reason tells which.
	ConditionProgressing = "Progressing"

	// ConditionAvailable is True when every probe of the content says True. On a
	// Package it is True while any of its active revisions serves.
	ConditionAvailable = "Available"

	// ConditionSucceeded is True once a revision was rolled out with all probes
	// passing. It is latched: it never goes back.
	ConditionSucceeded = "Succeeded"

	// ConditionReady is the summary on a Package: the target revision is rolled
	// out and available.
	ConditionReady = "Ready"
)

// Reasons of Progressing.
const (
	// ReasonRollingOut (True): objects are being applied, or a phase waits for
	// its probes. The message names the phase and what it waits for. As a reason of
	// Available it is False: the revision has not been rolled out completely.
	ReasonRollingOut = "RollingOut"

	// ReasonRolledOut (False): every phase is complete.
	ReasonRolledOut = "RolledOut"

	// ReasonSuperseded (False): a newer revision is rolled out instead of this one,
	// which had not succeeded. It is archived when the newer one has.
	ReasonSuperseded = "Superseded"

	// ReasonObjectCollisions (False): an object exists that another owner
	// controls. It is left as it is; the message names its owner.
	ReasonObjectCollisions = "ObjectCollisions"

	// ReasonRolloutError (False): the API server refused an object, or a read
	// failed. It is tried again with growing delays.
	ReasonRolloutError = "RolloutError"

	// ReasonObjectRefused (False): the API server refuses an object of the content as not
	// valid, with 400 or 422, or as not fitting its schema. Waiting does not help: it takes
	// a new revision, or another definition or admission policy. It is tried again with
	// growing delays, up to a minute.
	ReasonObjectRefused = "ObjectRefused"

	// ReasonInvalidSpec (False): the revision's content cannot be rolled out
	// whatever the cluster does, such as an object that stands in it twice.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonContentUnavailable (False): an ObjectSlice is missing, or does not
	// match its digest. It goes on by itself when the slice is restored.
	ReasonContentUnavailable = "ContentUnavailable"

	// ReasonProgressDeadlineExceeded (False): nothing moved for the Package's
	// progressDeadline. The rollout can still recover.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonPaused (False): the Package or the Revision is paused; nothing is
	// written, status is still observed.
	ReasonPaused = "Paused"

	// ReasonAwaitingApproval (False): spec.approval of the Package is Manual, or one
	// of its gates is closed, and this content is not approved. status.plan shows
	// what it would do. What was rolled out before is kept.
	ReasonAwaitingApproval = "AwaitingApproval"

	// ReasonPreflightFailed (False): nothing of the revision is written, since some
	// of it would be refused or do harm: missing rights, a
	// CustomResourceDefinition that breaks custom resources, a field that cannot be
	// changed, too few objects. The message lists what, and the remedy.
	ReasonPreflightFailed = "PreflightFailed"

	// ReasonPermissionDenied (False): the Package's identity may not do what the
	// revision needs. The message names verb and resource. It goes on when the
	// right is granted.
	ReasonPermissionDenied = "PermissionDenied"

	// ReasonArchiving (True): an older revision's own objects are being deleted.
	ReasonArchiving = "Archiving"

	// ReasonArchived (False): the revision is torn down and costs nothing more. As a
	// reason of Available it also stands while the revision is being torn down.
	ReasonArchived = "Archived"

	// ReasonTearingDown (True): the Package is being deleted, in reverse phase
	// order. The message names what is waited for. As a reason of Available and
	// Ready it is False.
	ReasonTearingDown = "TearingDown"

	// ReasonTeardownStuck (True): like TearingDown, for longer than the Package's
	// progressDeadline. The message names what is waited for, such as a finalizer.
	ReasonTeardownStuck = "TeardownStuck"

	// ReasonNoRevision (False): the Package has no active revision. It is a reason
	// of Available and Ready, too.
	ReasonNoRevision = "NoRevision"

	// ReasonPackageMissing (False, on a Revision): the Package that the revision
	// names does not exist, so it is not rolled out.
	ReasonPackageMissing = "PackageMissing"

	// ReasonRollbackRefused (False): the target is rolled out, and spec.rollback
	// names a revision that cannot be rolled back to. The message says why.
	ReasonRollbackRefused = "RollbackRefused"
)

// Reasons of Available.
const (
	// ReasonProbesSucceeded (True): every probe of every phase says True.
	ReasonProbesSucceeded = "ProbesSucceeded"

	// ReasonProbeFailed (False): the revision had been available and a probe no
	// longer says True. The message names the object.
	ReasonProbeFailed = "ProbeFailed"

	// ReasonServing (True, on a Package): the revision before the target still
	// serves while the target rolls out.
	ReasonServing = "Serving"

	// ReasonUnknown (Unknown): the state could not be observed.
	ReasonUnknown = "Unknown"
)

// Reasons of Succeeded.
const (
	// ReasonRolloutSuccess (True): the revision was rolled out completely once.
	ReasonRolloutSuccess = "RolloutSuccess"
)

// Reasons of Ready.
const (
	// ReasonReady (True): the target revision is rolled out and available.
	ReasonReady = "Ready"

	// ReasonNotReady (False): see Progressing and Available.
	ReasonNotReady = "NotReady"

	// ReasonInterference (True): the target revision is rolled out and available, and another
	// client keeps changing or deleting an object of it, whose repairs are slowed.
	ReasonInterference = "Interference"

	// ReasonRightsDiffer (False): the same of a Role, a ClusterRole or a binding, so that what
	// accounts may do differs from what is wanted.
	ReasonRightsDiffer = "RightsDiffer"

	// ReasonRolledBack (True): the content that runs is that of an earlier
	// revision, and the newer content was rejected by a rollback.
	ReasonRolledBack = "RolledBack"
)
