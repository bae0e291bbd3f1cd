// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

// deferredObjects are the target's objects that stay as they are until a later phase.
type deferredObjects struct {
	// keptByServing are those that a serving revision keeps meanwhile.
	keptByServing map[ObjectID]bool
	// placed are those that the target has put in place already.
	placed map[ObjectID]Record
	// at says where in the result each stands that waits for a phase, by that phase's name.
	at map[string][]place
}

// place is where an object stands in a revision.
type place struct{ phase, object int }

func newDeferred(in Rollout) *deferredObjects {
	kept := map[ObjectID]bool{}
	for _, serving := range in.Serving {
		for _, phase := range serving.Phases {
			for _, object := range phase.Objects {
				if serving.has(object.prepared.id) {
					kept[object.prepared.id] = true
				}
			}
		}
	}
	return &deferredObjects{keptByServing: kept, placed: in.Target.Records, at: map[string][]place{}}
}

// has says whether a revision has put an object in place that it contains.
func (r Revision) has(id ObjectID) bool {
	_, placed := r.Records[id]
	return placed || r.Succeeded
}

// updatePhase is the phase that an object of the target waits for, empty when it does not: it
// names none, or the target has put it in place before.
func (d *deferredObjects) updatePhase(object Object) string {
	if _, placed := d.placed[object.prepared.id]; placed {
		return ""
	}
	return object.UpdatePhase
}

// note takes in which objects of a phase wait for a later one.
func (d *deferredObjects) note(phase Phase, index int, results []ObjectResult) {
	for i, result := range results {
		if result.Deferred {
			name := phase.Objects[i].UpdatePhase
			d.at[name] = append(d.at[name], place{index, i})
		}
	}
}
