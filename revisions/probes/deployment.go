// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
)

// deploymentReady asks that the rollout is over: every replica that the spec wants
// runs the present pod template and is available, and none of an older template is
// left. It is stricter than the condition Available, which is already True when a
// minimum of replicas of whatever template is up.
func deploymentReady(content map[string]any) Result {
	if result := observed(content); result.Status != True {
		return result
	}
	if c := conditionOf(content, "Progressing"); c.status == string(False) {
		return NewResult(False, deploymentShortfallOr(content, "the rollout does not progress")+because(c.reason, c.message))
	}
	shortfall := deploymentShortfall(content)
	if shortfall == "" {
		return Result{Status: True}
	}
	if boolAt(content, "spec", "paused") {
		return NewResult(Unknown, "the rollout is paused: "+shortfall)
	}
	return NewResult(False, shortfall+replicaFailure(content))
}

// deploymentShortfall says what the rollout still waits for, "" when it is over.
func deploymentShortfall(content map[string]any) string {
	want := wantedReplicas(content)
	updated := countAt(content, "status", "updatedReplicas")
	replicas := countAt(content, "status", "replicas")
	available := countAt(content, "status", "availableReplicas")
	switch {
	case want == 0 && replicas > 0:
		return scalingToZero(replicas)
	case updated < want:
		return fmt.Sprintf("%d of %d replicas updated", updated, want)
	case replicas > updated:
		return fmt.Sprintf("%d old replicas still exist, %d updated", replicas-updated, updated)
	case available < want:
		return fmt.Sprintf("%d of %d updated replicas available", available, want)
	}
	return ""
}

func deploymentShortfallOr(content map[string]any, otherwise string) string {
	if shortfall := deploymentShortfall(content); shortfall != "" {
		return shortfall
	}
	return otherwise
}

// replicaSetReady asks that every replica that the spec wants is available. A
// ReplicaSet does not replace pods when its template changes, so there is no older
// template to look for.
func replicaSetReady(content map[string]any) Result {
	if result := observed(content); result.Status != True {
		return result
	}
	want := wantedReplicas(content)
	replicas := countAt(content, "status", "replicas")
	available := countAt(content, "status", "availableReplicas")
	switch {
	case want == 0 && replicas > 0:
		return NewResult(False, scalingToZero(replicas))
	case available < want:
		return NewResult(False, fmt.Sprintf("%d of %d replicas available", available, want)+replicaFailure(content))
	}
	return Result{Status: True}
}

// wantedReplicas returns .spec.replicas, which the API server sets to 1 where it is
// left out.
func wantedReplicas(content map[string]any) int64 {
	if n, ok := intAt(content, "spec", "replicas"); ok {
		return n
	}
	return 1
}

func scalingToZero(replicas int64) string {
	return fmt.Sprintf("%d replicas still exist, expected 0", replicas)
}

// replicaFailure says why pods cannot even be created, for example for want of
// quota.
func replicaFailure(content map[string]any) string {
	if c := conditionOf(content, "ReplicaFailure"); c.status == string(True) {
		return because(c.reason, c.message)
	}
	return ""
}
