// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
)

// podReady asks that the pod is ready, or has run to its end with success.
func podReady(content map[string]any) Result {
	if _, ok := fieldAt(content, "status", "observedGeneration"); ok {
		if result := observed(content); result.Status != True {
			return result
		}
	}
	switch phase := stringAt(content, "status", "phase"); phase {
	case "":
		return Result{Status: Unknown, Message: ".status.phase is missing"}
	case "Succeeded":
		return Result{Status: True}
	case "Failed":
		return NewResult(False, "the pod has failed"+because(stringAt(content, "status", "reason"), stringAt(content, "status", "message")))
	}
	result := conditionTrue(content, "Ready")
	if result.Status == True {
		return result
	}
	if c := conditionOf(content, "PodScheduled"); c.status == string(False) {
		return NewResult(False, "the pod is not scheduled"+because(c.reason, c.message))
	}
	if waiting := waitingContainer(content); waiting != "" {
		return NewResult(result.Status, waiting)
	}
	return result
}

// waitingContainer names the first container that waits to be started and why, as
// in ImagePullBackOff. The kubelet's condition only says that some are not ready.
func waitingContainer(content map[string]any) string {
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, entry := range listAt(content, "status", list) {
			container, _ := entry.(map[string]any)
			waiting := mapAt(container, "state", "waiting")
			if reason := stringAt(waiting, "reason"); reason != "" && reason != "PodInitializing" {
				return fmt.Sprintf("container %q waits", cut(stringAt(container, "name"), maxQuoted)) +
					because(reason, stringAt(waiting, "message"))
			}
		}
	}
	return ""
}
