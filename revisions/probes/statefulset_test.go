// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
)

func TestDefault_StatefulSet(t *testing.T) {
	testDefault(t, "apps", "StatefulSet", statefulSetCases)
}

var statefulSetCases = map[string]probeCase{
	"Complete": {
		reason: "A StatefulSet has no conditions; its counters and revisions say that it is complete.",
		object: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, generation: 2}
spec:
  replicas: 3
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
status:
  observedGeneration: 2
  replicas: 3
  readyReplicas: 3
  availableReplicas: 3
  currentReplicas: 3
  updatedReplicas: 3
  currentRevision: db-6b8f
  updateRevision: db-6b8f
  collisionCount: 0`,
		want: Result{Status: True},
	},
	"Unseen": {
		reason: "The controller has not looked at it.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1}, status: {replicas: 0, availableReplicas: 0}}`,
		want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
	},
	"OldStatus": {
		reason: "The status is about the spec before.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1}}`,
		want:   Result{Unknown, "not observed yet (generation 2, observed 1)"},
	},
	"Creating": {
		reason: "Pods are created one after the other.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, replicas: 1, currentReplicas: 1, updatedReplicas: 1, availableReplicas: 0, currentRevision: db-1, updateRevision: db-1}}`,
		want:   Result{False, "1 of 3 replicas updated"},
	},
	"Updating": {
		reason: "The old pods are ready, the new one is not there yet.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 3, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{False, "0 of 3 replicas updated"},
	},
	"LastNotAvailable": {
		reason: "All pods are updated, the last one is not available yet.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 2, updatedReplicas: 3, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{False, "2 of 3 replicas available"},
	},
	"RevisionNotMoved": {
		reason: "The controller has not declared the update complete.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 4, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{False, `the revision is "db-1", expected "db-2"`},
	},
	"BeforeAvailableExisted": {
		reason: "Without a counter of available replicas the ready ones count.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-1}}`,
		want:   Result{Status: True},
	},
	"AvailableZero": {
		reason: "A counter that is there and zero counts, not the ready ones.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {minReadySeconds: 30}, status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 0, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-1}}`,
		want:   Result{False, "0 of 1 replicas available"},
	},
	"PartitionDone": {
		reason: "Only ordinals from the partition up are to be updated; the revisions differ for good.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{Status: True},
	},
	"PartitionOpen": {
		reason: "The part that is to be updated is not yet.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{False, "1 of 2 replicas updated (from ordinal 1 up)"},
	},
	"PartitionBeyond": {
		reason: "A partition above all ordinals updates nothing.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 9}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{Status: True},
	},
	"PartitionNotAvailable": {
		reason: "Pods below the partition have to be available all the same.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 1}}`,
		want:   Result{False, "2 of 3 replicas available"},
	},
	"OnDelete": {
		reason: "Pods are updated when they are deleted, and the current revision never moves.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{True, "1 of 3 replicas updated, the others are updated when they are deleted (OnDelete)"},
	},
	"OnDeleteDone": {
		reason: "All were deleted; the current revision still does not move.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1, currentRevision: db-1, updateRevision: db-2}}`,
		want:   Result{Status: True},
	},
	"OnDeleteNotAvailable": {
		reason: "Pods have to be available all the same.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 3, availableReplicas: 0}}`,
		want:   Result{False, "0 of 3 replicas available"},
	},
	"Zero": {
		reason: "Nothing is wanted and nothing is there.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 3}, spec: {replicas: 0}, status: {observedGeneration: 3, replicas: 0, availableReplicas: 0, currentRevision: db-2, updateRevision: db-2}}`,
		want:   Result{Status: True},
	},
	"ToZero": {
		reason: "Nothing is wanted but something is there.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 3}, spec: {replicas: 0}, status: {observedGeneration: 3, replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1}}`,
		want:   Result{False, "1 replicas still exist, expected 0"},
	},
}

func TestDefault_DaemonSet(t *testing.T) {
	testDefault(t, "apps", "DaemonSet", map[string]probeCase{
		"Complete": {
			reason: "On every node the pod is updated and available.",
			object: `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: istio-cni-node, generation: 1}
spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}}
status:
  observedGeneration: 1
  currentNumberScheduled: 4
  desiredNumberScheduled: 4
  updatedNumberScheduled: 4
  numberReady: 4
  numberAvailable: 4
  numberMisscheduled: 0`,
			want: Result{Status: True},
		},
		"Unseen": {
			reason: "The controller has not looked at it; that no node is wanted is not known.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}}`,
			want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
		},
		"Updating": {
			reason: "All pods are available, one is of the old template.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 2, desiredNumberScheduled: 4, updatedNumberScheduled: 3, numberReady: 4, numberAvailable: 4}}`,
			want:   Result{False, "3 of 4 nodes updated"},
		},
		"NotAvailable": {
			reason: "A pod is ready but not yet available.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 4, updatedNumberScheduled: 4, numberReady: 4, numberAvailable: 3, numberUnavailable: 1}}`,
			want:   Result{False, "3 of 4 nodes available"},
		},
		"JustCreated": {
			reason: "Counters that are zero are left out.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 4}}`,
			want:   Result{False, "0 of 4 nodes updated"},
		},
		"NoNodes": {
			reason: "No node matches; nothing more will happen.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0}}`,
			want:   Result{True, "no node is selected, so no pod is wanted"},
		},
		"OnDelete": {
			reason: "Pods are updated when they are deleted.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, desiredNumberScheduled: 4, updatedNumberScheduled: 1, numberAvailable: 4}}`,
			want:   Result{True, "1 of 4 nodes updated, the others are updated when their pods are deleted (OnDelete)"},
		},
		"OnDeleteNotAvailable": {
			reason: "They have to be available all the same.",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, desiredNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 3}}`,
			want:   Result{False, "3 of 4 nodes available"},
		},
	})
}
