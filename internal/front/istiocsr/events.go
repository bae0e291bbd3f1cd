// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/telemetry"
)

// Events of an IstioCSR.
const (
	// ReasonAgentReady (Normal, on an IstioCSR): what it asks for is rolled out and works.
	ReasonAgentReady = "AgentReady"

	// ReasonAgentNotReady (Warning, on an IstioCSR): it worked, and something that it needs
	// does not any more.
	ReasonAgentNotReady = "AgentNotReady"

	// ReasonAgentDegraded (Warning, on an IstioCSR): something has to be mended by hand.
	ReasonAgentDegraded = "AgentDegraded"

	// ReasonAgentTakenOver (Normal, on an IstioCSR): an agent that was installed by
	// other means is taken over. The note says whether its pods stay, and if not, why.
	ReasonAgentTakenOver = "AgentTakenOver"

	// ReasonMultiIstioCSRInstance (Warning, on an IstioCSR): an older one runs the agent.
	ReasonMultiIstioCSRInstance = "MultiIstioCSRInstance"

	// ReasonRemoveDeployment (Warning, on an IstioCSR): it is being deleted. The note says
	// whether the agent keeps running.
	ReasonRemoveDeployment = "RemoveDeployment"
)

// changeEvents are the events of a change of an IstioCSR's status. Regarding is left to the
// caller.
func changeEvents(before, after *operatorv1alpha1.IstioCSR) []telemetry.Event {
	return append(takenOver(before, after), ofConditions(before, after)...)
}

// takenOver tells of a takeover once, while it is in the message.
func takenOver(before, after *operatorv1alpha1.IstioCSR) []telemetry.Event {
	noteOf := func(ic *operatorv1alpha1.IstioCSR) string {
		if ready := meta.FindStatusCondition(ic.Status.Conditions, operatorv1alpha1.ConditionReady); ready != nil {
			return TakeoverIn(ready.Message)
		}
		return ""
	}
	note := noteOf(after)
	if note == "" || note == noteOf(before) {
		return nil
	}
	return []telemetry.Event{telemetry.Bounded(telemetry.Event{Type: corev1.EventTypeNormal, Reason: ReasonAgentTakenOver, Action: "TakeOver", Note: note})}
}

func ofConditions(before, after *operatorv1alpha1.IstioCSR) []telemetry.Event {
	ready := meta.FindStatusCondition(after.Status.Conditions, operatorv1alpha1.ConditionReady)
	degraded := meta.FindStatusCondition(after.Status.Conditions, operatorv1alpha1.ConditionDegraded)
	wasReady := meta.FindStatusCondition(before.Status.Conditions, operatorv1alpha1.ConditionReady)
	wasDegraded := meta.FindStatusCondition(before.Status.Conditions, operatorv1alpha1.ConditionDegraded)
	warn := func(reason, action string, c *metav1.Condition) []telemetry.Event {
		return []telemetry.Event{telemetry.Bounded(telemetry.Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: c.Message})}
	}
	switch {
	case ready == nil:
		return nil
	case !after.DeletionTimestamp.IsZero():
		if wasReady == nil || before.DeletionTimestamp.IsZero() || wasReady.Message != ready.Message {
			return warn(ReasonRemoveDeployment, "Delete", ready)
		}
	case degraded == nil:
		if differs(wasReady, ready) {
			return warn(ReasonMultiIstioCSRInstance, "Choose", ready)
		}
	case degraded.Status == metav1.ConditionTrue:
		if differs(wasDegraded, degraded) {
			return warn(ReasonAgentDegraded, "RollOut", degraded)
		}
	case wasReady != nil && wasReady.Status == ready.Status:
	case ready.Status == metav1.ConditionTrue:
		return []telemetry.Event{telemetry.Bounded(telemetry.Event{Type: corev1.EventTypeNormal, Reason: ReasonAgentReady, Action: "RollOut", Note: ready.Message})}
	case wasReady != nil && wasReady.ObservedGeneration == ready.ObservedGeneration:
		// Otherwise a newer spec has to be rolled out first, which needs no warning.
		return warn(ReasonAgentNotReady, "Observe", ready)
	}
	return nil
}

func differs(before, after *metav1.Condition) bool {
	return before == nil || before.Status != after.Status || before.Message != after.Message
}
