// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Condition types of ClusterExtension.
const (
	// TypeInstalled is True once a bundle has been installed, also while an upgrade fails.
	TypeInstalled = "Installed"

	// TypeProgressing is True while the manager works towards what the spec asks for, and False when
	// that is reached or only a change by a user helps.
	TypeProgressing = "Progressing"

	// TypeAvailable is True while the workloads of the installed bundle work, or those of the bundle
	// that is being installed while none is.
	TypeAvailable = "Available"

	// TypeDeprecated is True when the package, a channel or the bundle is deprecated.
	TypeDeprecated = "Deprecated"

	// TypePackageDeprecated is True when the catalog says that the package is deprecated.
	TypePackageDeprecated = "PackageDeprecated"

	// TypeChannelDeprecated is True when the catalog says that one of the channels is deprecated.
	TypeChannelDeprecated = "ChannelDeprecated"

	// TypeBundleDeprecated is True when the catalog says that the installed bundle is deprecated.
	TypeBundleDeprecated = "BundleDeprecated"
)

// Condition types of ClusterCatalog, besides Progressing.
const (
	// TypeServing is True while extensions can be resolved from the catalog.
	TypeServing = "Serving"
)

// Reasons of Installed.
const (
	// ReasonSucceeded (Installed True, Progressing False): it is done.
	ReasonSucceeded = "Succeeded"

	// ReasonAbsent (Installed False): nothing is installed yet. (BundleDeprecated Unknown): there is
	// no installed bundle to be deprecated.
	ReasonAbsent = "Absent"

	// ReasonFailed (Installed False): nothing is installed, and the first attempt has failed.
	// (Installed Unknown): what is installed could not be read.
	ReasonFailed = "Failed"
)

// Reasons of Progressing.
const (
	// ReasonInvalidConfiguration (False): the bundle does not take what spec.config has.
	ReasonInvalidConfiguration = "InvalidConfiguration"

	// ReasonBlocked (False): only a change of the spec, of a catalog or of the cluster helps. The
	// message says which.
	ReasonBlocked = "Blocked"

	// ReasonProgressDeadlineExceeded (False): there was no progress for the time in
	// spec.progressDeadlineMinutes.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonPaused (False): the rollout is paused.
	ReasonPaused = "Paused"

	// ReasonAwaitingApproval (False): the revision waits for the approval of its content.
	ReasonAwaitingApproval = "AwaitingApproval"

	// ReasonRetrying (True): something failed, and is tried again.
	ReasonRetrying = "Retrying"

	// ReasonRollingOut (Progressing True, Available False): the bundle is being installed.
	ReasonRollingOut = "RollingOut"
)

// Reasons of Available.
const (
	// ReasonProbesSucceeded (True): all workloads work.
	ReasonProbesSucceeded = "ProbesSucceeded"

	// ReasonProbeFailure (False): an object does not work. The message names it.
	ReasonProbeFailure = "ProbeFailure"

	// ReasonReconciling (Unknown): the objects have not been looked at yet.
	ReasonReconciling = "Reconciling"
)

// Reasons of the conditions about deprecation.
const (
	// ReasonDeprecated (True): the catalog says so.
	ReasonDeprecated = "Deprecated"

	// ReasonNotDeprecated (False): the catalog says nothing.
	ReasonNotDeprecated = "NotDeprecated"

	// ReasonDeprecationStatusUnknown (Unknown): no catalog could be read.
	ReasonDeprecationStatusUnknown = "DeprecationStatusUnknown"
)

// Reasons of Serving.
const (
	// ReasonAvailable (True): the content is at hand.
	ReasonAvailable = "Available"

	// ReasonUnavailable (False): there is no content yet.
	ReasonUnavailable = "Unavailable"

	// ReasonUserSpecifiedUnavailable (False): spec.availabilityMode is Unavailable.
	ReasonUserSpecifiedUnavailable = "UserSpecifiedUnavailable"
)
