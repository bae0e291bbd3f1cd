// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/telemetry"
)

// classEvents are the events of a GatewayClass, by the condition whose status or reason
// has changed.
var classEvents = []struct {
	condition string
	good, bad string
	action    string
}{
	{ConditionControllerInstalled, telemetry.ReasonControlPlaneInstalled, telemetry.ReasonControlPlaneFailed, "Install"},
	{ConditionCRDsReady, telemetry.ReasonCRDsManaged, telemetry.ReasonCRDsNotManaged, "ManageCRDs"},
}

// conditionEvents are the events of a change of a GatewayClass's conditions. Regarding is
// left to the caller.
func conditionEvents(before, after []metav1.Condition) []telemetry.Event {
	var all []telemetry.Event
	for _, of := range classEvents {
		was, is := meta.FindStatusCondition(before, of.condition), meta.FindStatusCondition(after, of.condition)
		if is == nil || is.Status == metav1.ConditionUnknown || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if is.Reason == ReasonNotReady && (was == nil || was.Status != metav1.ConditionTrue) {
			continue // they are being installed for the first time
		}
		e := telemetry.Event{Type: corev1.EventTypeNormal, Reason: of.good, Action: of.action, Note: is.Message}
		if is.Status == metav1.ConditionFalse {
			e.Type, e.Reason = corev1.EventTypeWarning, of.bad
		}
		all = append(all, telemetry.Bounded(e))
	}
	return all
}
