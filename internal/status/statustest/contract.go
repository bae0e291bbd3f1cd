// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// reasons are those of one condition, each with the status that it comes with.
type reasons map[string]metav1.ConditionStatus

// contract is what may stand in a condition of a type.
var contract = map[string]reasons{
	v1alpha1.ConditionProgressing: {
		v1alpha1.ReasonRollingOut:               yes,
		v1alpha1.ReasonRolledOut:                no,
		v1alpha1.ReasonSuperseded:               no,
		v1alpha1.ReasonObjectCollisions:         no,
		v1alpha1.ReasonRolloutError:             no,
		v1alpha1.ReasonObjectRefused:            no,
		v1alpha1.ReasonInvalidSpec:              no,
		v1alpha1.ReasonContentUnavailable:       no,
		v1alpha1.ReasonProgressDeadlineExceeded: no,
		v1alpha1.ReasonPaused:                   no,
		v1alpha1.ReasonAwaitingApproval:         no,
		v1alpha1.ReasonPreflightFailed:          no,
		v1alpha1.ReasonPermissionDenied:         no,
		v1alpha1.ReasonArchiving:                yes,
		v1alpha1.ReasonArchived:                 no,
		v1alpha1.ReasonTearingDown:              yes,
		v1alpha1.ReasonTeardownStuck:            yes,
		v1alpha1.ReasonNoRevision:               no,
		v1alpha1.ReasonPackageMissing:           no,
		v1alpha1.ReasonRollbackRefused:          no,
	},
	v1alpha1.ConditionAvailable: {
		v1alpha1.ReasonProbesSucceeded: yes,
		v1alpha1.ReasonServing:         yes,
		v1alpha1.ReasonProbeFailed:     no,
		v1alpha1.ReasonRollingOut:      no,
		v1alpha1.ReasonArchived:        no,
		v1alpha1.ReasonTearingDown:     no,
		v1alpha1.ReasonNoRevision:      no,
		v1alpha1.ReasonPackageMissing:  no,
		v1alpha1.ReasonUnknown:         unknown,
	},
	v1alpha1.ConditionSucceeded: {
		v1alpha1.ReasonRolloutSuccess: yes,
	},
	v1alpha1.ConditionReady: {
		v1alpha1.ReasonReady:        yes,
		v1alpha1.ReasonRolledBack:   yes,
		v1alpha1.ReasonInterference: yes,
		v1alpha1.ReasonRightsDiffer: no,
		v1alpha1.ReasonNotReady:     no,
		v1alpha1.ReasonTearingDown:  no,
		v1alpha1.ReasonNoRevision:   no,

		operatorv1alpha1.ReasonProgressing: no,
		operatorv1alpha1.ReasonFailed:      no,

		v1alpha2.ReasonReconcileSucceeded:               yes,
		v1alpha2.ReasonReconcileUnknown:                 unknown,
		v1alpha2.ReasonReconcileFailed:                  no,
		v1alpha2.ReasonValidationFailed:                 no,
		v1alpha2.ReasonOlderCRExists:                    no,
		v1alpha2.ReasonOldestCRNotFound:                 no,
		v1alpha2.ReasonIstioInstallNotNeeded:            no,
		v1alpha2.ReasonIstioUninstallSucceeded:          no,
		v1alpha2.ReasonIstioInstallUninstallFailed:      no,
		v1alpha2.ReasonIstioCustomResourceMisconfigured: no,
		v1alpha2.ReasonIstioCustomResourcesDangling:     no,
		v1alpha2.ReasonIstioVersionUpdateNotAllowed:     no,
		v1alpha2.ReasonIngressGatewayRestartFailed:      no,
		v1alpha2.ReasonIngressGatewayRestartSucceeded:   no,
		v1alpha2.ReasonEgressGatewayRestartFailed:       no,
		v1alpha2.ReasonEgressGatewayRestartSucceeded:    no,

		v1alpha2.ReasonReconcileRequeued: no,

		// Of the API, and not written: the reasons above stand for them.
		v1alpha2.ReasonIstioInstallSucceeded:             no,
		v1alpha2.ReasonCustomResourcesReconcileSucceeded: no,
		v1alpha2.ReasonCustomResourcesReconcileFailed:    no,
	},
	v1alpha2.ConditionProxySidecarRestartSucceeded: {
		v1alpha2.ReasonProxySidecarRestartSucceeded:          yes,
		v1alpha2.ReasonProxySidecarRestartPartiallySucceeded: no,
		v1alpha2.ReasonProxySidecarRestartFailed:             no,
		v1alpha2.ReasonProxySidecarManualRestartRequired:     no,
	},
	v1alpha2.ConditionIngressTargetingUserResourceFound: {
		v1alpha2.ReasonIngressTargetingUserResourceFound:           yes,
		v1alpha2.ReasonIngressTargetingUserResourceNotFound:        no,
		v1alpha2.ReasonIngressTargetingUserResourceDetectionFailed: unknown,
	},
	operatorv1alpha1.ConditionDegraded: {
		operatorv1alpha1.ReasonReady:  no,
		operatorv1alpha1.ReasonFailed: yes,
	},
	"ControllerInstalled": {
		"Installed":     yes,
		"InstallFailed": no,
		"Pending":       unknown,
	},
	"CRDsReady": {
		"ManagedByCIO":      yes,
		"ManagedByOLM":      yes,
		"NoneExist":         unknown,
		"NotReady":          no,
		"UnknownManagement": no,
		"MixedOwnership":    no,
	},
}
