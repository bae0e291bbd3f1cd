// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"

	"github.com/strata-run/strata/probes"
)

// serves says whether the operand serves: from the newest revision that has
// succeeded, every object must be in place and serve, whichever revision has it
// now. Before anything has succeeded, nothing serves.
func (e *Engine) serves(in Rollout, result Result) probes.Result {
	all := map[ObjectID]ObjectResult{}
	for _, revision := range append([]RevisionResult{result.Target}, result.Serving...) {
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				if _, newer := all[object.ID]; !newer {
					all[object.ID] = object
				}
			}
		}
	}
	if result.Target.Complete() {
		return judgeServing(in.Target, all)
	}
	for _, revision := range append([]Revision{in.Target}, in.Serving...) {
		if revision.Succeeded {
			return judgeServing(revision, all)
		}
	}
	return probes.Result{Status: probes.False, Message: "no revision has succeeded yet"}
}

func judgeServing(revision Revision, all map[ObjectID]ObjectResult) probes.Result {
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			id := IDOf(object.Manifest)
			state, known := all[id]
			switch {
			case !known || !state.InPlace():
				return probes.Result{Status: probes.False, Message: fmt.Sprintf("%s is not in place", id)}
			case state.Serves.Status != probes.True:
				return probes.Result{Status: state.Serves.Status, Message: fmt.Sprintf("%s: %s", id, state.Serves.Message)}
			}
		}
	}
	return probes.Result{Status: probes.True, Message: fmt.Sprintf("revision %d serves", revision.Number)}
}
