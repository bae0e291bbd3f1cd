// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
)

func TestDefault_PersistentVolumeClaim(t *testing.T) {
	testDefault(t, "", "PersistentVolumeClaim", map[string]probeCase{
		"Bound": {
			reason: "The claim has its volume.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pvc-1}, status: {phase: Bound, capacity: {storage: 1Gi}}}`,
			want:   Result{Status: True},
		},
		"WaitForFirstConsumer": {
			reason: "Nothing has begun: the class waits for a pod, so the rollout must not wait for the claim.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: standard}, status: {phase: Pending}}`,
			want:   Result{True, "the claim is Pending: it waits for its first consumer"},
		},
		"NodeSelected": {
			reason: "The pod has a node: the claim's class waits for consumers and has one.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/selected-node: worker-1, volume.kubernetes.io/storage-provisioner: ebs.csi.aws.com}}, status: {phase: Pending}}`,
			want:   Result{True, `the claim is Pending: its volume is being provisioned for its consumer on the node "worker-1"`},
		},
		"Provisioning": {
			reason: "A class that binds at once provisions without a pod.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/storage-provisioner: ebs.csi.aws.com, volume.beta.kubernetes.io/storage-provisioner: ebs.csi.aws.com}}, status: {phase: Pending}}`,
			want:   Result{False, `the claim is Pending: its volume is being provisioned by "ebs.csi.aws.com"`},
		},
		"ProvisioningBeta": {
			reason: "Old clusters know the annotation by its old name only.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.beta.kubernetes.io/storage-provisioner: nfs}}, status: {phase: Pending}}`,
			want:   Result{False, `the claim is Pending: its volume is being provisioned by "nfs"`},
		},
		"NamedVolume": {
			reason: "A volume that was asked for by name needs no pod.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: backup}, status: {phase: Pending}}`,
			want:   Result{False, `the claim is Pending: it waits for the volume "backup"`},
		},
		"Lost": {
			reason: "The volume is gone.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeName: pvc-1}, status: {phase: Lost}}`,
			want:   Result{False, `.status.phase is "Lost", expected "Bound"`},
		},
		"NoPhase": {
			reason: "No status says nothing.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim}`,
			want:   Result{Unknown, ".status.phase is missing"},
		},
		"BeingDeleted": {
			reason: "A claim that is in use keeps its phase while it waits to be deleted.",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {deletionTimestamp: "2026-08-01T00:00:00Z", finalizers: [kubernetes.io/pvc-protection]}, status: {phase: Bound}}`,
			want:   Result{False, "the object is being deleted"},
		},
	})
}

func TestDefault_Pod(t *testing.T) {
	testDefault(t, "", "Pod", map[string]probeCase{
		"Ready": {
			reason: "The pod is ready.",
			object: `{apiVersion: v1, kind: Pod, metadata: {generation: 1}, status: {observedGeneration: 1, phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True", observedGeneration: 1}]}}`,
			want:   Result{Status: True},
		},
		"ReadyWithoutGeneration": {
			reason: "Kubelets before 1.33 did not write a generation.",
			object: `{apiVersion: v1, kind: Pod, metadata: {generation: 1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			want:   Result{Status: True},
		},
		"Changed": {
			reason: "The kubelet has not seen the new image.",
			object: `{apiVersion: v1, kind: Pod, metadata: {generation: 2}, status: {observedGeneration: 1, phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			want:   Result{Unknown, "not observed yet (generation 2, observed 1)"},
		},
		"NotReady": {
			reason: "The kubelet says why.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: 'containers with unready status: [web]'}], containerStatuses: [{name: web, state: {running: {}}}]}}`,
			want:   Result{False, `condition "Ready" is "False", expected "True": ContainersNotReady: containers with unready status: [web]`},
		},
		"ImagePullBackOff": {
			reason: "What the container waits for says more than that it is not ready.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [{name: sidecar, state: {running: {}}}, {name: web, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "web:2"'}}}]}}`,
			want:   Result{False, `container "web" waits: ImagePullBackOff: Back-off pulling image "web:2"`},
		},
		"InitCrashLoop": {
			reason: "While an init container waits, the others only wait for it.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: Ready, status: "False"}], initContainerStatuses: [{name: init, state: {waiting: {reason: CrashLoopBackOff}}}], containerStatuses: [{name: web, state: {waiting: {reason: PodInitializing}}}]}}`,
			want:   Result{False, `container "init" waits: CrashLoopBackOff`},
		},
		"NotScheduled": {
			reason: "A pod without node has no other condition.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3 nodes are available}]}}`,
			want:   Result{False, "the pod is not scheduled: Unschedulable: 0/3 nodes are available"},
		},
		"Pending": {
			reason: "No controller has looked at it.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Pending}}`,
			want:   Result{Unknown, `the object has no condition "Ready" yet`},
		},
		"Succeeded": {
			reason: "A pod that ran to its end is not ready any more, and done.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Succeeded, conditions: [{type: Ready, status: "False", reason: PodCompleted}]}}`,
			want:   Result{Status: True},
		},
		"Failed": {
			reason: "A pod that failed does not come back.",
			object: `{apiVersion: v1, kind: Pod, status: {phase: Failed, reason: Evicted, message: The node was low on resource}}`,
			want:   Result{False, "the pod has failed: Evicted: The node was low on resource"},
		},
		"NoPhase": {
			reason: "No status says nothing.",
			object: `{apiVersion: v1, kind: Pod}`,
			want:   Result{Unknown, ".status.phase is missing"},
		},
	})
}

func TestDefault_Namespace(t *testing.T) {
	testDefault(t, "", "Namespace", map[string]probeCase{
		"Active": {
			reason: "Objects can be created in it.",
			object: `{apiVersion: v1, kind: Namespace, status: {phase: Active}}`,
			want:   Result{Status: True},
		},
		"Terminating": {
			reason: "Objects in it are being deleted.",
			object: `{apiVersion: v1, kind: Namespace, status: {phase: Terminating}}`,
			want:   Result{False, `.status.phase is "Terminating", expected "Active"`},
		},
		"Unseen": {
			reason: "No status says nothing.",
			object: `{apiVersion: v1, kind: Namespace}`,
			want:   Result{Unknown, ".status.phase is missing"},
		},
	})
}

func TestDefault_Service(t *testing.T) {
	testDefault(t, "", "Service", map[string]probeCase{
		"ClusterIP": {
			reason: "Nothing has to happen.",
			object: `{apiVersion: v1, kind: Service, spec: {type: ClusterIP}, status: {loadBalancer: {}}}`,
			want:   Result{Status: True},
		},
		"WithoutType": {
			reason: "ClusterIP is what a Service is where it does not say.",
			object: `{apiVersion: v1, kind: Service}`,
			want:   Result{Status: True},
		},
		"LoadBalancerIP": {
			reason: "The address is there.",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: VIP}]}}}`,
			want:   Result{Status: True},
		},
		"LoadBalancerHostname": {
			reason: "A name is an address.",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{hostname: lb.example.org}]}}}`,
			want:   Result{Status: True},
		},
		"LoadBalancerPending": {
			reason: "The cloud has not given an address.",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {}}}`,
			want:   Result{False, ".status.loadBalancer.ingress has no address yet"},
		},
		"LoadBalancerEmptyIngress": {
			reason: "An entry without address is none.",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{}, text, {ip: ""}]}}}`,
			want:   Result{False, ".status.loadBalancer.ingress has no address yet"},
		},
	})
}

func TestDefault_PodDisruptionBudget(t *testing.T) {
	testDefault(t, "policy", "PodDisruptionBudget", map[string]probeCase{
		"Observed": {
			reason: "That no disruption is allowed at present does not matter.",
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: DisruptionAllowed, status: "False", reason: InsufficientPods}]}}`,
			want:   Result{Status: True},
		},
		"Unseen": {
			reason: "The controller has not looked at it.",
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}}`,
			want:   Result{Unknown, "not observed yet (generation 1, observed none)"},
		},
		"Changed": {
			reason: "The status is about the spec before.",
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 2}, status: {observedGeneration: 1}}`,
			want:   Result{Unknown, "not observed yet (generation 2, observed 1)"},
		},
	})
}

func TestDefault_Job(t *testing.T) {
	testDefault(t, "batch", "Job", map[string]probeCase{
		"Complete": {
			reason: "The job is done.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True", reason: CompletionsReached}]}}`,
			want:   Result{Status: True},
		},
		"Running": {
			reason: "Progress is reported.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 3}, status: {active: 1, succeeded: 1, failed: 2}}`,
			want:   Result{False, "the job is not complete: 1 of 3 completions succeeded, 1 active, 2 failed"},
		},
		"WorkQueue": {
			reason: "A job over a work queue does not say how many completions it wants.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}, status: {active: 2}}`,
			want:   Result{False, "the job is not complete: 0 succeeded, 2 active, 0 failed"},
		},
		"Failed": {
			reason: "The controller says why it gave up.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {failed: 7, conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}`,
			want:   Result{False, "the job has failed: BackoffLimitExceeded: Job has reached the specified backoff limit"},
		},
		"BoundToFail": {
			reason: "It only waits for its pods to end before it says that it failed.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {active: 1, conditions: [{type: FailureTarget, status: "True", reason: DeadlineExceeded}]}}`,
			want:   Result{False, "the job has failed: DeadlineExceeded"},
		},
		"Suspended": {
			reason: "It goes nowhere; that is not its failure.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, completions: 1}, status: {conditions: [{type: Suspended, status: "True", reason: JobSuspended}]}}`,
			want:   Result{Unknown, "the job is suspended"},
		},
		"SuspendedAfter": {
			reason: "A job that was complete when it was suspended is complete.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {conditions: [{type: Complete, status: "True"}]}}`,
			want:   Result{Status: True},
		},
		"Resumed": {
			reason: "A condition that is False says nothing.",
			object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {active: 1, conditions: [{type: Suspended, status: "False"}, {type: Failed, status: "False"}, {type: Complete, status: "False"}]}}`,
			want:   Result{False, "the job is not complete: 0 of 1 completions succeeded, 1 active, 0 failed"},
		},
	})
}
