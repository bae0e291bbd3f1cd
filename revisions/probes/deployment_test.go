// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
)

func TestDefault_Deployment(t *testing.T) {
	testDefault(t, "apps", "Deployment", deploymentCases)
}

var deploymentCases = map[string]probeCase{
	"Complete": {
		reason: "All replicas run the template and are available.",
		object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: istio-system, generation: 2}
spec: {replicas: 3, progressDeadlineSeconds: 600}
status:
  observedGeneration: 2
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: 'ReplicaSet "istiod-7d4b9c6f5" has successfully progressed.'}`,
		want: Result{Status: True},
	},
	"NoStatus": {
		reason: "The controller has not looked at it.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1}, status: {}}`,
		want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
	},
	"OldStatus": {
		reason: "A status that is all good but about the spec before says nothing.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}`,
		want:   Result{Unknown, "not observed yet (generation 2, observed 1)"},
	},
	"JustObserved": {
		reason: "Counters that are zero are left out; so two that are missing are not equal to what is wanted.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1}}`,
		want:   Result{False, "0 of 2 replicas updated"},
	},
	"NotAvailable": {
		reason: "The pod is there but does not become ready.",
		object: `
apiVersion: apps/v1
kind: Deployment
metadata: {generation: 1}
spec: {replicas: 1}
status:
  observedGeneration: 1
  replicas: 1
  updatedReplicas: 1
  unavailableReplicas: 1
  conditions:
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: Deployment does not have minimum availability.}
  - {type: Progressing, status: "True", reason: ReplicaSetUpdated}`,
		want: Result{False, "0 of 1 updated replicas available"},
	},
	"DefaultReplicas": {
		reason: "One replica is wanted where the spec does not say.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1}}`,
		want:   Result{False, "0 of 1 replicas updated"},
	},
	"OldPodsServe": {
		reason: "Available counts pods of the old template: 3 of 3 are, and none of the new.",
		object: `
apiVersion: apps/v1
kind: Deployment
metadata: {generation: 5}
spec: {replicas: 3}
status:
  observedGeneration: 5
  replicas: 4
  updatedReplicas: 1
  readyReplicas: 3
  availableReplicas: 3
  unavailableReplicas: 1
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "True", reason: ReplicaSetUpdated}`,
		want: Result{False, "1 of 3 replicas updated"},
	},
	"SurgeWithOldPods": {
		reason: "All new pods are there, an old one is still to go.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 5}, spec: {replicas: 3}, status: {observedGeneration: 5, replicas: 4, updatedReplicas: 3, readyReplicas: 4, availableReplicas: 4}}`,
		want:   Result{False, "1 old replicas still exist, 3 updated"},
	},
	"ScaledToZero": {
		reason: "Nothing is wanted and nothing is there; all counters are left out.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 4}, spec: {replicas: 0}, status: {observedGeneration: 4, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
		want:   Result{Status: True},
	},
	"ScalingToZero": {
		reason: "Nothing is wanted but something is there.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 4}, spec: {replicas: 0}, status: {observedGeneration: 4, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}`,
		want:   Result{False, "2 replicas still exist, expected 0"},
	},
	"ScaledToZeroUnseen": {
		reason: "Missing counters of a deployment that no controller has looked at are no zeros.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}}`,
		want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
	},
	"ScalingDown": {
		reason: "One replica too many of the present template does no harm.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 4}, spec: {replicas: 2}, status: {observedGeneration: 4, replicas: 3, updatedReplicas: 3, availableReplicas: 3}}`,
		want:   Result{Status: True},
	},
	"PausedBefore": {
		reason: "A paused rollout goes nowhere; that is not its failure.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 6}, spec: {replicas: 3, paused: true}, status: {observedGeneration: 6, replicas: 3, availableReplicas: 3, conditions: [{type: Progressing, status: Unknown, reason: DeploymentPaused}]}}`,
		want:   Result{Unknown, "the rollout is paused: 0 of 3 replicas updated"},
	},
	"PausedAfter": {
		reason: "A rollout that was complete when it was paused is complete.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 6}, spec: {replicas: 3, paused: true}, status: {observedGeneration: 6, replicas: 3, updatedReplicas: 3, availableReplicas: 3, conditions: [{type: Progressing, status: Unknown, reason: DeploymentPaused}]}}`,
		want:   Result{Status: True},
	},
	"DeadlineExceeded": {
		reason: "The controller gave up waiting, whatever the old pods say.",
		object: `
apiVersion: apps/v1
kind: Deployment
metadata: {generation: 2}
spec: {replicas: 1}
status:
  observedGeneration: 2
  replicas: 2
  updatedReplicas: 1
  readyReplicas: 1
  availableReplicas: 1
  unavailableReplicas: 1
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: 'ReplicaSet "web-5c9" has timed out progressing.'}`,
		want: Result{False, `1 old replicas still exist, 1 updated: ProgressDeadlineExceeded: ReplicaSet "web-5c9" has timed out progressing.`},
	},
	"CannotCreateReplicaSet": {
		reason: "Nothing is wanted, but the template is refused.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2, conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError, message: denied}]}}`,
		want:   Result{False, "the rollout does not progress: ReplicaSetCreateError: denied"},
	},
	"QuotaExceeded": {
		reason: "Why no pod can be created is reported.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "web-1" is forbidden: exceeded quota'}]}}`,
		want:   Result{False, `1 of 2 replicas updated: FailedCreate: pods "web-1" is forbidden: exceeded quota`},
	},
	"BeingDeleted": {
		reason: "What is going away is not ready, however well it runs.",
		object: `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2, deletionTimestamp: "2026-08-01T00:00:00Z"}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}`,
		want:   Result{False, "the object is being deleted"},
	},
	"OtherKind": {
		reason: "The probe of one kind knows nothing of another.",
		object: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}}`,
		want:   Result{Unknown, "the object is no Deployment.apps"},
	},
}

func TestDefault_ReplicaSet(t *testing.T) {
	testDefault(t, "apps", "ReplicaSet", map[string]probeCase{
		"Available": {
			reason: "All replicas are available.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 2}}`,
			want:   Result{Status: True},
		},
		"OneMissing": {
			reason: "One is ready but not yet available.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 1}}`,
			want:   Result{False, "1 of 2 replicas available"},
		},
		"Failure": {
			reason: "Why no pod can be created is reported.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, replicas: 0, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: no service account}]}}`,
			want:   Result{False, "0 of 1 replicas available: FailedCreate: no service account"},
		},
		"Zero": {
			reason: "Nothing is wanted and nothing is there.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 3}, spec: {replicas: 0}, status: {observedGeneration: 3, replicas: 0}}`,
			want:   Result{Status: True},
		},
		"ToZero": {
			reason: "Nothing is wanted but something is there.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 3}, spec: {replicas: 0}, status: {observedGeneration: 3, replicas: 1}}`,
			want:   Result{False, "1 replicas still exist, expected 0"},
		},
		"Unseen": {
			reason: "The controller has not looked at it.",
			object: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 0}}`,
			want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
		},
	})
}
