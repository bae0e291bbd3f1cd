// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

const (
	// mostPlanned bounds the list of objects that a revision would touch.
	mostPlanned = 64
	// plannedReasonLimit bounds what is said of one of them, in bytes.
	plannedReasonLimit = 256
)

// planned are the actions in the order in which a plan counts them.
var planned = []v1alpha1.PlannedAction{
	v1alpha1.PlanCreate, v1alpha1.PlanUpdate, v1alpha1.PlanReplace, v1alpha1.PlanAdopt, v1alpha1.PlanCollide,
	v1alpha1.PlanDelete, v1alpha1.PlanRetain, v1alpha1.PlanWait, v1alpha1.PlanUnknown,
}

// plan is what a revision would do, nil when it is not stopped.
func plan(o Observation) *v1alpha1.Plan {
	if !o.isStopped() || o.Digest == "" {
		return nil
	}
	return planOf(o, mostPlanned)
}

// FullPlan is what a revision would do, with every object that would be touched. The
// observation is that of a paused pass; of it Loaded, Result, Serving and Digest count.
func FullPlan(o Observation) *v1alpha1.Plan { return planOf(o, math.MaxInt) }

// planOf is a plan that lists the first objects, at most as many as are given.
func planOf(o Observation, most int) *v1alpha1.Plan {
	p := &planner{plan: &v1alpha1.Plan{Digest: o.Digest}, most: most, counts: map[v1alpha1.PlannedAction]int{}}
	for i, phase := range o.Loaded.Phases {
		for j, object := range phase.Objects {
			p.target(phase.Name, object, o.Result.Phases, i, j)
		}
	}
	p.serving(o)
	p.plan.Summary = p.summary()
	return p.plan
}

// planner puts a plan together.
type planner struct {
	plan *v1alpha1.Plan
	// most is how many objects are listed; the others are counted only.
	most      int
	counts    map[v1alpha1.PlannedAction]int
	unchanged int
}

func (p *planner) add(phase string, ref v1alpha1.ObjectReference, action v1alpha1.PlannedAction, reason string) {
	p.counts[action]++
	if len(p.plan.Objects) < p.most {
		p.plan.Objects = append(p.plan.Objects, v1alpha1.PlannedObject{
			ObjectReference: ref, Phase: phase, Action: action, Reason: bound(reason, plannedReasonLimit),
		})
	}
}

// target plans an object that the revision contains.
func (p *planner) target(phase string, object revisions.Object, results []revisions.PhaseResult, i, j int) {
	id := revisions.IDOf(object.Manifest)
	ref := reference(id, object.Manifest.GroupVersionKind().Version)
	if i >= len(results) || j >= len(results[i].Objects) {
		p.add(phase, ref, v1alpha1.PlanUnknown, "it was not checked")
		return
	}
	result := results[i].Objects[j]
	switch action := plannedAction(result); {
	case action == "":
		p.unchanged++
	case result.Err != nil:
		p.add(phase, ref, action, result.Err.Error())
	default:
		p.add(phase, ref, action, cmp.Or(result.Reason, result.Waiting))
	}
}

// plannedAction is what would be done about an object, empty for nothing.
func plannedAction(result revisions.ObjectResult) v1alpha1.PlannedAction {
	switch {
	case result.Err != nil:
		return v1alpha1.PlanUnknown
	case result.Action == revisions.ActionCollision:
		return v1alpha1.PlanCollide
	}
	switch result.Pending {
	case revisions.OperationCreate:
		return v1alpha1.PlanCreate
	case revisions.OperationAdopt:
		return v1alpha1.PlanAdopt
	case revisions.OperationReplace:
		return v1alpha1.PlanReplace
	case revisions.OperationApply:
		return v1alpha1.PlanUpdate
	case revisions.OperationWait:
		return v1alpha1.PlanWait
	case revisions.OperationNone, revisions.OperationDefer, revisions.OperationIgnore, revisions.OperationRefuse:
	}
	if result.Waiting != "" {
		return v1alpha1.PlanWait
	}
	return ""
}

// serving plans the objects of older revisions that the revision does not contain.
func (p *planner) serving(o Observation) {
	known := map[revisions.ObjectID]bool{}
	for _, phase := range o.Loaded.Phases {
		for _, object := range phase.Objects {
			known[revisions.IDOf(object.Manifest)] = true
		}
	}
	for _, revision := range o.Serving {
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				id := revisions.IDOf(object.Manifest)
				if _, placed := revision.Records[id]; known[id] || !placed && !revision.Succeeded {
					continue
				}
				known[id] = true
				action, reason := v1alpha1.PlanDelete, "revision %d contains it, and this one does not"
				switch {
				case object.DeleteUnused && object.Retain:
					action, reason = v1alpha1.PlanRetain, "revision %d contains it, and this one does not; it is deleted when no custom resource of it exists"
				case object.Retain:
					action, reason = v1alpha1.PlanRetain, "revision %d contains it, and this one does not; it is retained"
				}
				p.add(phase.Name, reference(id, object.Manifest.GroupVersionKind().Version), action, fmt.Sprintf(reason, revision.Number))
			}
		}
	}
}

// summary counts the actions: "2 create, 1 update, 30 unchanged".
func (p *planner) summary() string {
	var parts []string
	for _, action := range planned {
		if count := p.counts[action]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, strings.ToLower(string(action))))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", p.unchanged)), ", ")
}
