// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// reasons are those of one condition, each with the status that it comes with.
type reasons map[string]metav1.ConditionStatus

// contract is what may stand in a condition of a type: what the table of reasons says of Packages
// and Revisions, and the conditions of fronts.
var contract = withReasons(map[string]reasons{
	v1alpha1.ConditionReady: {
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
})

func withReasons(all map[string]reasons) map[string]reasons {
	for _, reason := range history.Reasons {
		for condition, status := range reason.Conditions {
			if all[condition] == nil {
				all[condition] = reasons{}
			}
			all[condition][reason.Name] = status
		}
	}
	return all
}
