// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
)

// jobReady asks that the job is complete. One that has failed, or is bound to fail
// and only waits for its pods to end, is False with the reason.
func jobReady(content map[string]any) Result {
	if conditionOf(content, "Complete").status == string(True) {
		return Result{Status: True}
	}
	for _, conditionType := range []string{"Failed", "FailureTarget"} {
		if c := conditionOf(content, conditionType); c.status == string(True) {
			return NewResult(False, "the job has failed"+because(c.reason, c.message))
		}
	}
	if boolAt(content, "spec", "suspend") {
		return Result{Status: Unknown, Message: "the job is suspended"}
	}
	progress := fmt.Sprintf("%d succeeded", countAt(content, "status", "succeeded"))
	if completions, ok := intAt(content, "spec", "completions"); ok {
		progress = fmt.Sprintf("%d of %d completions succeeded", countAt(content, "status", "succeeded"), completions)
	}
	return NewResult(False, fmt.Sprintf("the job is not complete: %s, %d active, %d failed",
		progress, countAt(content, "status", "active"), countAt(content, "status", "failed")))
}
