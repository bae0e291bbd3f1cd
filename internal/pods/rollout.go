// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rollout is where the replacement of a workload's pods stands.
type Rollout struct {
	// Done says that all pods are of the newest template, and serve.
	Done bool
	// Updated says that all pods are of the newest template, whether they serve or not, and
	// Completed that all of them have served once, as far as the workload tells.
	Updated, Completed bool
	// CompletedAt is when the workload has said so, zero when it does not say. One from before a
	// change of the template is of the pods before: the deployment controller may lose the
	// condition that follows on the change, when another client writes at the same time.
	CompletedAt time.Time
	// Empty says that there are to be no pods.
	Empty bool
	// Failed is why it does not go on, as the workload tells. Empty while it may.
	Failed string
	// Cause is why pods cannot be made, as the workload tells. Empty when they can.
	Cause string
	// Blocked is why a restart would replace no pods, or not all. Empty when it would.
	Blocked string
	// Progress says how far it is, such as 2 of 5 pods are new, 5 of 6 serve: old ones may be left.
	Progress string
}

// RolloutOf reads where a Deployment, StatefulSet or DaemonSet stands.
func RolloutOf(o *unstructured.Unstructured) Rollout {
	number := func(fallback int64, fields ...string) int64 {
		if value, found, _ := unstructured.NestedInt64(o.Object, fields...); found {
			return value
		}
		return fallback
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, fields...)
		return value
	}
	r := Rollout{}
	want, total := number(1, "spec", "replicas"), number(0, "status", "replicas")
	updated, available := number(0, "status", "updatedReplicas"), number(0, "status", "availableReplicas")
	switch o.GetKind() {
	case "Deployment":
		if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
			r.Blocked = "it is paused: resume it"
		}
		progressing := conditionOf(o, "Progressing")
		reason := progressing["reason"]
		if r.Completed = reason == "NewReplicaSetAvailable"; r.Completed {
			at, _ := progressing["lastUpdateTime"].(string)
			r.CompletedAt, _ = time.Parse(time.RFC3339, at)
		}
		if reason == "ProgressDeadlineExceeded" {
			r.Failed = "it has exceeded its progress deadline"
		}
		if refused := conditionOf(o, "ReplicaFailure"); refused["status"] == "True" {
			r.Cause = fmt.Sprint(refused["message"])
		}
	case "StatefulSet":
		total = updated // pods are replaced in place
		r.Completed = text("status", "currentRevision") != "" && text("status", "currentRevision") == text("status", "updateRevision")
		if partition := number(0, "spec", "updateStrategy", "rollingUpdate", "partition"); partition > 0 {
			r.Blocked = fmt.Sprintf("its update strategy keeps %d pods as they are: set the partition to 0", min(partition, want))
		}
	case "DaemonSet":
		want, updated = number(0, "status", "desiredNumberScheduled"), number(0, "status", "updatedNumberScheduled")
		total, available = updated, number(0, "status", "numberAvailable")
		// One pod is replaced after the other has come up, unless there is only one.
		r.Completed = updated >= want && available > 0
	}
	if text("spec", "updateStrategy", "type") == "OnDelete" {
		r.Blocked = "its update strategy is OnDelete: delete its pods, one after the other"
	}
	seen := number(0, "status", "observedGeneration") >= o.GetGeneration()
	r.Empty, r.Completed = want == 0, r.Completed && seen
	r.Updated = seen && updated >= want && total <= updated
	r.Done = r.Updated && available >= want
	r.Progress = fmt.Sprintf("%d of %d pods are new, %d of %d serve", updated, want, available, max(want, number(0, "status", "replicas")))
	if !seen {
		r.Failed, r.Progress = "", "it was not checked yet"
	}
	return r
}

// Because adds to what has failed how far the rollout is, and what keeps pods from being made.
func (r Rollout) Because(what string) string {
	text := fmt.Sprintf("%s (%s)", what, r.Progress)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	return text
}

// conditionOf is a condition of a workload, empty when it has none of the type.
func conditionOf(o *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		if c, _ := item.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}
