// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Trouble is a pod that keeps its workload from being ready.
type Trouble struct {
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
func (t Trouble) String() string {
	text := "Pod " + t.Name + ": " + t.Reason
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// Failing are those of the pods that do not run, by name. Pods that are being deleted
// are left out.
func Failing(pods []corev1.Pod) []Trouble {
	var found []Trouble
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue
		}
		if trouble, ok := of(&pods[i]); ok {
			found = append(found, trouble)
		}
	}
	slices.SortFunc(found, func(a, b Trouble) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// Text says in at most limit bytes what is wrong with a workload's pods: the first of
// them with its reason, and how many more there are. It is empty when nothing is.
func Text(found []Trouble, limit int) string {
	if len(found) == 0 {
		return ""
	}
	more := ""
	if len(found) > 1 {
		more = fmt.Sprintf(" (and %d more pods)", len(found)-1)
	}
	text := []rune(found[0].String())
	for len(string(text))+len(more) > limit && len(text) > 0 {
		text = text[:len(text)-1]
	}
	return string(text) + more
}

// of says why a pod does not run: it found no node, a container waits or has ended,
// or the whole pod has failed; or it runs and does not pass its own probes.
func of(pod *corev1.Pod) (Trouble, bool) {
	trouble := Trouble{Namespace: pod.Namespace, Name: pod.Name}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		reason, message := ofContainer(status)
		if reason != "" {
			trouble.Container, trouble.Reason, trouble.Message = status.Name, reason, message
			return trouble, true
		}
	}
	for _, condition := range pod.Status.Conditions {
		unscheduled := condition.Type == corev1.PodScheduled
		unready := condition.Type == corev1.PodReady && pod.Status.Phase == corev1.PodRunning && condition.Reason != ""
		if condition.Status == corev1.ConditionFalse && (unscheduled || unready) {
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

// ofContainer is the reason why a container does not run, and the message.
func ofContainer(status corev1.ContainerStatus) (string, string) {
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
