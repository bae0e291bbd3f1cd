// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
)

// statefulSetReady asks that every replica that the spec wants is available and,
// as far as the update strategy updates pods at all, runs the present revision.
// A StatefulSet has no conditions of its own; its counters and revisions say it all.
func statefulSetReady(content map[string]any) Result {
	if result := observed(content); result.Status != True {
		return result
	}
	want := wantedReplicas(content)
	updated := countAt(content, "status", "updatedReplicas")
	if replicas := countAt(content, "status", "replicas"); want == 0 && replicas > 0 {
		return NewResult(False, scalingToZero(replicas))
	}
	onDelete := stringAt(content, "spec", "updateStrategy", "type") == "OnDelete"
	partition := countAt(content, "spec", "updateStrategy", "rollingUpdate", "partition")
	if due := max(0, want-partition); !onDelete && updated < due {
		return NewResult(False, fmt.Sprintf("%d of %d replicas updated", updated, due)+partitioned(partition))
	}
	if available := statefulSetAvailable(content); available < want {
		return NewResult(False, fmt.Sprintf("%d of %d replicas available", available, want))
	}
	if onDelete && updated < want {
		return NewResult(True, fmt.Sprintf("%d of %d replicas updated, the others are updated when they are deleted (OnDelete)", updated, want))
	}
	if onDelete || partition > 0 {
		return Result{Status: True}
	}
	// The controller moves currentRevision when it finds the update complete. With
	// OnDelete it never does, with a partition it must not.
	current, update := stringAt(content, "status", "currentRevision"), stringAt(content, "status", "updateRevision")
	if current != update {
		return NewResult(False, fmt.Sprintf("the revision is %q, expected %q", cut(current, maxQuoted), cut(update, maxQuoted)))
	}
	return Result{Status: True}
}

// statefulSetAvailable returns the available replicas. Before Kubernetes 1.22 there
// was no such counter; since then it is written even when it is zero.
func statefulSetAvailable(content map[string]any) int64 {
	if n, ok := intAt(content, "status", "availableReplicas"); ok {
		return n
	}
	return countAt(content, "status", "readyReplicas")
}

func partitioned(partition int64) string {
	if partition <= 0 {
		return ""
	}
	return fmt.Sprintf(" (from ordinal %d up)", partition)
}
