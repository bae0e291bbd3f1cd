// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

const (
	// annSelectedNode is set by the scheduler on a claim of a storage class that
	// waits for the first consumer, once that consumer has a node.
	annSelectedNode = "volume.kubernetes.io/selected-node"
	// annProvisioner, under either name, is set when a volume begins to be
	// provisioned.
	annProvisioner     = "volume.kubernetes.io/storage-provisioner"
	annProvisionerBeta = "volume.beta.kubernetes.io/storage-provisioner"
)

// persistentVolumeClaimReady asks that the claim is bound, or that nothing but its
// consumer can make it so.
//
// A storage class with volumeBindingMode WaitForFirstConsumer binds no claim before
// a pod that uses it is scheduled. Such a claim is Pending by design, and a rollout
// that held back the pod until the claim is bound would wait for ever. Whether a
// class is of that mode cannot be seen on the claim; what can be seen is how far it
// has come:
//
//   - No provisioning has begun: it waits for its first consumer. A claim without
//     class or with an unknown one, and one that was created a moment ago, look the
//     same. True, with a message; where it was something else than the first
//     consumer, the pod that uses the claim will not become ready and says so.
//   - A node was selected: the consumer is there and its own readiness depends on
//     the volume. True, with a message.
//   - Otherwise a volume is being provisioned or was asked for by name, for which
//     no consumer is needed: False until it is bound.
//
// Who wants to wait for Bound whatever happens uses a FieldValue for .status.phase.
func persistentVolumeClaimReady(content map[string]any) Result {
	if stringAt(content, "status", "phase") != "Pending" {
		return phaseReady(content, "Bound")
	}
	if volume := stringAt(content, "spec", "volumeName"); volume != "" {
		return NewResult(False, "the claim is Pending: it waits for the volume "+describe(volume))
	}
	annotations := mapAt(content, "metadata", "annotations")
	if node := stringAt(annotations, annSelectedNode); node != "" {
		return NewResult(True, "the claim is Pending: its volume is being provisioned for its consumer on the node "+describe(node))
	}
	for _, key := range []string{annProvisioner, annProvisionerBeta} {
		if provisioner := stringAt(annotations, key); provisioner != "" {
			return NewResult(False, "the claim is Pending: its volume is being provisioned by "+describe(provisioner))
		}
	}
	return Result{Status: True, Message: "the claim is Pending: it waits for its first consumer"}
}
