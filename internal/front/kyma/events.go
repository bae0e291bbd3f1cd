// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/telemetry"
)

// Events of an Istio resource.
const (
	// ReasonMeshReady (Normal, on an Istio): the mesh that it describes runs.
	ReasonMeshReady = "MeshReady"

	// ReasonMeshProcessing (Normal, on an Istio): a rollout has begun.
	ReasonMeshProcessing = "MeshProcessing"

	// ReasonMeshDeleting (Normal, on an Istio): the mesh is being removed.
	ReasonMeshDeleting = "MeshDeleting"

	// ReasonMeshWarning (Warning, on an Istio): something needs a person, the mesh works.
	ReasonMeshWarning = "MeshWarning"

	// ReasonMeshError (Warning, on an Istio): what it describes cannot be reached.
	ReasonMeshError = "MeshError"

	// ReasonClusterSizeChanged (Normal, on an Istio): the defaults for another size of
	// cluster are rolled out.
	ReasonClusterSizeChanged = "ClusterSizeChanged"

	// ReasonMeshWithoutResource (Warning, on a Package): the Istio resource of the mesh is gone, and
	// custom resources of users keep the mesh from going. The note names them.
	ReasonMeshWithoutResource = "MeshWithoutResource"
)

// changeEvents are the events of a change of an Istio resource's status: one for each change of the
// state, and one for each new reason of Ready in a state that needs a person. Regarding is
// left to the caller.
func changeEvents(before, after *v1alpha2.Istio) []telemetry.Event {
	if after.Status.Conditions == nil {
		return nil
	}
	ready := meta.FindStatusCondition(*after.Status.Conditions, v1alpha2.ConditionReady)
	if ready == nil {
		return nil
	}
	state := after.Status.State
	if before.Status.State == state && before.Status.Conditions != nil {
		was := meta.FindStatusCondition(*before.Status.Conditions, v1alpha2.ConditionReady)
		if was != nil && was.Reason == ready.Reason || state == v1alpha2.StateProcessing || state == v1alpha2.StateDeleting {
			return nil
		}
	}
	event := telemetry.Event{Type: corev1.EventTypeNormal, Action: "RollOut", Note: ready.Message}
	switch state {
	case v1alpha2.StateReady:
		event.Reason = ReasonMeshReady
	case v1alpha2.StateProcessing:
		event.Reason = ReasonMeshProcessing
	case v1alpha2.StateDeleting:
		event.Reason, event.Action = ReasonMeshDeleting, "Delete"
	case v1alpha2.StateWarning:
		event.Type, event.Reason = corev1.EventTypeWarning, ReasonMeshWarning
	default:
		event.Type, event.Reason = corev1.EventTypeWarning, ReasonMeshError
	}
	return []telemetry.Event{telemetry.Bounded(event)}
}
