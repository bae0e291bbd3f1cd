// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"encoding/json"
	"fmt"
)

// changesNothing says whether a merge patch holds nothing but the
// resourceVersion of its optimistic lock.
func changesNothing(data []byte) (bool, error) {
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return false, fmt.Errorf("reading the patch: %w", err)
	}
	metadata, _ := patch["metadata"].(map[string]any)
	for key := range metadata {
		if key != "resourceVersion" {
			return false, nil
		}
	}
	delete(patch, "metadata")
	return len(patch) == 0, nil
}
