// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"encoding/json"
)

// annConditions is where the API autoscaling/v1, which has no conditions in its
// status, shows them as JSON.
const annConditions = "autoscaling.alpha.kubernetes.io/conditions"

// maxAnnotation is the size that the API server allows all annotations together,
// in bytes.
const maxAnnotation = 256 << 10

// horizontalPodAutoscalerReady asks that the autoscaler can read and change the
// scale of its target (AbleToScale). That it has no metrics (ScalingActive False) is
// reported, but does not stop a rollout: the workload runs with the replicas that it
// has, a new workload has no metrics at first, and a cluster without a metrics
// server never has any. An autoscaler that is switched off (ScalingDisabled) does: its
// target has no replicas, and it will not bring any back.
func horizontalPodAutoscalerReady(content map[string]any) Result {
	conditions := autoscalerConditions(content)
	generation := countAt(content, "metadata", "generation")
	able := Condition{Type: "AbleToScale"}.check(conditions, generation)
	if able.Status != True {
		return able
	}
	if active, ok := findCondition(conditions, "ScalingActive"); ok && active.status == string(False) {
		status := True
		if active.reason == "ScalingDisabled" {
			status = False
		}
		return NewResult(status, "scaling is not active"+because(active.reason, active.message))
	}
	return able
}

func autoscalerConditions(content map[string]any) []any {
	if conditions := listAt(content, "status", "conditions"); conditions != nil {
		return conditions
	}
	text := stringAt(content, "metadata", "annotations", annConditions)
	if text == "" || len(text) > maxAnnotation {
		return nil
	}
	var conditions []any
	if err := json.Unmarshal([]byte(text), &conditions); err != nil {
		// The annotation says nothing; so does the probe, which then is Unknown.
		return nil
	}
	return conditions
}
