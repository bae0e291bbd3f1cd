// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
)

// daemonSetReady asks that on every node that should run the pod it is available
// and, unless pods are only updated when they are deleted, runs the present
// template. When no node should run it, that is True.
func daemonSetReady(content map[string]any) Result {
	if result := observed(content); result.Status != True {
		return result
	}
	desired := countAt(content, "status", "desiredNumberScheduled")
	updated := countAt(content, "status", "updatedNumberScheduled")
	available := countAt(content, "status", "numberAvailable")
	onDelete := stringAt(content, "spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case desired == 0:
		return Result{Status: True, Message: "no node is selected, so no pod is wanted"}
	case !onDelete && updated < desired:
		return NewResult(False, fmt.Sprintf("%d of %d nodes updated", updated, desired))
	case available < desired:
		return NewResult(False, fmt.Sprintf("%d of %d nodes available", available, desired))
	case updated < desired:
		return NewResult(True, fmt.Sprintf("%d of %d nodes updated, the others are updated when their pods are deleted (OnDelete)", updated, desired))
	}
	return Result{Status: True}
}
