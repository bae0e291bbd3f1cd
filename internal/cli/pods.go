// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// PodTrouble is a pod that keeps its workload from being ready.
type PodTrouble struct {
	// Namespace and Name are the pod's.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Container is the container that does not run; empty when the pod as a whole
	// does not.
	Container string `json:"container,omitempty"`
	// Reason is the kubelet's or the scheduler's, such as ErrImagePull.
	Reason string `json:"reason"`
	// Message is theirs.
	Message string `json:"message,omitempty"`
}

// String is the trouble in one sentence.
func (t PodTrouble) String() string {
	text := "Pod " + t.Name + ": " + t.Reason
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// workloadGroups are the API groups of the kinds that have pods.
var workloadGroups = map[string]string{
	"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch",
}

func isWorkload(ref v1alpha1.ObjectReference) bool {
	group, known := workloadGroups[ref.Kind]
	return known && group == ref.Group
}

// failingPods are the pods of a workload that do not run, by name.
func (c *cluster) failingPods(ctx context.Context, ref v1alpha1.ObjectReference, uid string, manifest *unstructured.Unstructured) ([]PodTrouble, error) {
	owners := map[types.UID]bool{types.UID(uid): true}
	options := []client.ListOption{client.InNamespace(ref.Namespace), client.MatchingLabelsSelector{Selector: podSelector(manifest)}}
	if ref.Kind == "Deployment" {
		sets := &metav1.PartialObjectMetadataList{}
		sets.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSetList"})
		if err := c.client.List(ctx, sets, options...); err != nil {
			return nil, fmt.Errorf("listing the ReplicaSets of %s: %w", objectName(ref), err)
		}
		for i := range sets.Items {
			if owner := metav1.GetControllerOf(&sets.Items[i]); owner != nil && owners[owner.UID] {
				owners[sets.Items[i].UID] = true
			}
		}
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, options...); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", objectName(ref), err)
	}
	return troubleOf(pods.Items, owners), nil
}

// podSelector is the selector in a workload's manifest. It only saves reading
// the namespace's other pods: what a pod belongs to is told by its owner.
func podSelector(manifest *unstructured.Unstructured) labels.Selector {
	if manifest == nil {
		return labels.Everything()
	}
	match, found, err := unstructured.NestedStringMap(manifest.Object, "spec", "selector", "matchLabels")
	if !found || err != nil {
		return labels.Everything()
	}
	return labels.SelectorFromSet(match)
}

// troubleOf are those pods of the owners that do not run.
func troubleOf(pods []corev1.Pod, owners map[types.UID]bool) []PodTrouble {
	var found []PodTrouble
	for i := range pods {
		pod := &pods[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || !owners[owner.UID] || pod.DeletionTimestamp != nil {
			continue
		}
		if trouble, ok := podTrouble(pod); ok {
			found = append(found, trouble)
		}
	}
	slices.SortFunc(found, func(a, b PodTrouble) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// podTrouble says why a pod does not run: it found no node, a container waits or
// has ended, or the whole pod has failed.
func podTrouble(pod *corev1.Pod) (PodTrouble, bool) {
	trouble := PodTrouble{Namespace: pod.Namespace, Name: pod.Name}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		reason, message := containerTrouble(status)
		if reason != "" {
			trouble.Container, trouble.Reason, trouble.Message = status.Name, reason, message
			return trouble, true
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			trouble.Reason, trouble.Message = condition.Reason, condition.Message
			return trouble, true
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		trouble.Reason, trouble.Message = cmp.Or(pod.Status.Reason, string(corev1.PodFailed)), pod.Status.Message
		return trouble, true
	}
	return trouble, false
}

// containerTrouble is the reason why a container does not run, and the message.
func containerTrouble(status corev1.ContainerStatus) (string, string) {
	waiting := status.State.Waiting
	ended := status.State.Terminated
	switch {
	case waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
		message := waiting.Message
		if last := status.LastTerminationState.Terminated; last != nil {
			message = fmt.Sprintf("%s (it ended with exit code %d, %s)", message, last.ExitCode, last.Reason)
		}
		return waiting.Reason, message
	case ended != nil && ended.ExitCode != 0:
		return cmp.Or(ended.Reason, "Error"), cmp.Or(ended.Message, fmt.Sprintf("exit code %d", ended.ExitCode))
	}
	return "", ""
}
