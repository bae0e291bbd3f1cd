// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"

	"github.com/strata-run/strata/revisions/probes"
)

// serves says whether the operand serves: of the newest revision that has
// succeeded, every object must be there, be ours and serve, whichever revision
// has it now. Before anything has succeeded, nothing serves.
func serves(in Rollout, result Result) probes.Result {
	if result.Target.Complete() || in.Target.Succeeded {
		return judgeServing(in.Target, in, result)
	}
	for _, revision := range in.Serving {
		if revision.Succeeded {
			return judgeServing(revision, in, result)
		}
	}
	return probes.Result{Status: probes.False, Message: "no revision has succeeded yet"}
}

func judgeServing(revision Revision, in Rollout, result Result) probes.Result {
	states := newestStates(in, result)
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			state, known := states[object.prepared.id]
			switch {
			case !known:
				return probes.Result{Status: probes.Unknown, Message: fmt.Sprintf("%s was not checked", object.prepared.id)}
			case state.Serves.Status != probes.True:
				return probes.Result{Status: state.Serves.Status, Message: fmt.Sprintf("%s: %s", object.prepared.id, state.Serves.Message)}
			}
		}
	}
	return probes.Result{Status: probes.True, Message: fmt.Sprintf("revision %d serves", revision.Number)}
}

// newestStates are the results by object, from the newest revision that has
// looked at it. A paused revision has only looked at what an older one may have, and so
// has one that leaves the object for later.
func newestStates(in Rollout, result Result) map[ObjectID]*ObjectResult {
	states := make(map[ObjectID]*ObjectResult, len(result.Target.Records))
	add := func(revision RevisionResult) {
		for _, phase := range revision.Phases {
			for i := range phase.Objects {
				if known := states[phase.Objects[i].ID]; known == nil || known.Deferred {
					states[phase.Objects[i].ID] = &phase.Objects[i]
				}
			}
		}
	}
	waits := in.Target.Paused && !in.Paused
	if !waits {
		add(result.Target)
	}
	for _, serving := range result.Serving {
		add(serving)
	}
	if waits {
		add(result.Target)
	}
	return states
}
