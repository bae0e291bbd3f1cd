// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/load"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/probes"
	"github.com/strata-run/strata/revisions"
)

// pass carries what one pass finds from stage to stage.
type pass struct {
	pkg  *v1alpha1.Package
	line history.Line
	now  metav1.Time
	// target and serving are the active revisions as the engine has them, without
	// phases where they could not be loaded.
	target  revisions.Revision
	serving []revisions.Revision
	result  revisions.Result
	pause   *v1alpha1.Pause
	// err is what kept the rollout from being looked at completely.
	err error
	// unloaded says, by its number, what kept an active revision from being loaded.
	// That of a serving one holds up no other.
	unloaded map[int64]error
}

// rollOut loads the active revisions and makes one pass of the engine over them.
func (w *Worker) rollOut(ctx context.Context, pkg *v1alpha1.Package, line history.Line, known *memory) pass {
	p := pass{pkg: pkg, line: line, now: w.now(), unloaded: map[int64]error{}}
	if line.Target == nil {
		return p
	}
	p.pause = pauseOf(pkg, line.Target, p.now)
	rollout := revisions.Rollout{Owner: ownerOf(pkg), Paused: p.pause != nil}
	p.target, rollout.Target = w.loadFor(ctx, &p, line.Target, known)
	for _, revision := range line.Serving {
		loaded, given := w.loadFor(ctx, &p, revision, known)
		p.serving, rollout.Serving = append(p.serving, loaded), append(rollout.Serving, given)
	}
	p.result, p.err = w.Engine.Reconcile(ctx, rollout)
	if err := p.unloaded[line.Target.Spec.Revision]; err != nil {
		p.err = err
	}
	p.judgeUnloaded()
	known.records[line.Target.UID] = p.result.Target.Records
	for i, revision := range line.Serving {
		known.records[revision.UID] = p.result.Serving[i].Records
	}
	return p
}

// loadFor loads a revision for the pass. What is given to the engine in place of
// content that could not be loaded is a phase without a name: the engine refuses
// it, writes nothing for it, and keeps what other revisions hold.
func (w *Worker) loadFor(ctx context.Context, p *pass, revision *v1alpha1.Revision, known *memory) (loaded, given revisions.Revision) {
	loaded, err := w.load(ctx, revision, known)
	given = loaded
	if err != nil {
		p.unloaded[revision.Spec.Revision] = err
		given.Phases = []revisions.Phase{{}}
	}
	return loaded, given
}

// judgeUnloaded says that nobody knows whether the operand serves, when that
// depends on content that could not be loaded.
func (p *pass) judgeUnloaded() {
	if p.result.Target.Complete() || p.target.Succeeded {
		return
	}
	for _, revision := range append([]*v1alpha1.Revision{p.line.Target}, p.line.Serving...) {
		if !history.Succeeded(revision) {
			continue
		}
		if err := p.unloaded[revision.Spec.Revision]; err != nil {
			p.result.Serves = probes.Result{Status: probes.Unknown, Message: fmt.Sprintf("revision %d could not be looked at: %v", revision.Spec.Revision, err)}
		}
		return
	}
}

// load is a revision as the engine has it. Content never changes, so it is loaded
// once. With an error it has no phases, and counts as one that has not succeeded.
func (w *Worker) load(ctx context.Context, revision *v1alpha1.Revision, known *memory) (revisions.Revision, error) {
	records, newer := known.records[revision.UID]
	if !newer {
		records = load.Records(revision.Status.Inventory)
	}
	loaded, ok := known.loaded[revision.UID]
	if !ok {
		var err error
		if loaded, err = load.Revision(ctx, w.Contents, revision); err != nil {
			return revisions.Revision{Number: revision.Spec.Revision, Records: records}, err
		}
		known.loaded[revision.UID] = loaded
	}
	loaded.Succeeded, loaded.Records = history.Succeeded(revision), records
	return loaded, nil
}

func ownerOf(pkg *v1alpha1.Package) revisions.Owner {
	return revisions.Owner{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name,
		UID: pkg.UID, Label: v1alpha1.LabelPackage,
	}
}

// pauseOf says why the target is paused, nil when it is not.
func pauseOf(pkg *v1alpha1.Package, target *v1alpha1.Revision, now metav1.Time) *v1alpha1.Pause {
	if pause := pkg.Spec.Paused; pause != nil && (pause.Until == nil || now.Before(pause.Until)) {
		return pause
	}
	if target.Spec.LifecycleState == v1alpha1.LifecyclePaused {
		return &v1alpha1.Pause{Reason: "spec.lifecycleState of revision " + target.Name + " is Paused"}
	}
	return nil
}

// observation is what the pass has found about the target.
func (p *pass) observation() status.Observation {
	o := status.Observation{
		Loaded: p.target, Result: p.result.Target, Serves: p.result.Serves, Err: p.err, Pause: p.pause, Now: p.now,
	}
	if p.pkg.Spec.ProgressDeadline != nil {
		o.Deadline = p.pkg.Spec.ProgressDeadline.Duration
	}
	if p.pkg.Spec.Soak != nil {
		o.Soak = p.pkg.Spec.Soak.Duration
	}
	return o
}

// revisions are all of the line, with the statuses that the pass has written.
func (p *pass) revisions() []v1alpha1.Revision {
	var all []v1alpha1.Revision
	if p.line.Target != nil {
		all = append(all, *p.line.Target)
	}
	for _, group := range [][]*v1alpha1.Revision{p.line.Serving, p.line.Archiving, p.line.Archived} {
		for _, revision := range group {
			all = append(all, *revision)
		}
	}
	return all
}

// retryable is the part of the pass's errors that another try may mend. Content
// that can never be rolled out waits for a new revision.
func (p *pass) retryable() error {
	errs := []error{p.err}
	for i, serving := range p.serving {
		errs = append(errs, p.unloaded[serving.Number])
		if !isInvalid(p.err) {
			continue // what serves is part of it
		}
		for _, phase := range p.result.Serving[i].Phases {
			for _, object := range phase.Objects {
				errs = append(errs, object.Err)
			}
		}
	}
	return errors.Join(slices.DeleteFunc(errs, isInvalid)...)
}

// isInvalid says that an error is about content that can never be rolled out.
func isInvalid(err error) bool {
	var invalid *revisions.ValidationError
	var unusable *load.InvalidError
	return errors.As(err, &invalid) || errors.As(err, &unusable)
}

// after says when to look again without an event: when a pause, a soak or the
// deadline ends, and now and then for what no event tells of.
func (p *pass) after(known *memory) time.Duration {
	after := known.uncollected
	if p.pause != nil && p.pause.Until != nil {
		after = soonest(after, p.pause.Until.Sub(p.now.Time))
	}
	if p.line.Target != nil && !history.Succeeded(p.line.Target) && p.pause == nil && p.err == nil {
		o, current := p.observation(), p.line.Target.Status
		if p.result.Target.Complete() {
			after = soonest(after, status.SoakLeft(current, o.Soak, p.now.Time))
		} else {
			after = soonest(after, status.DeadlineLeft(current, o.Deadline, p.now.Time))
		}
	}
	if !p.isHeldSilently() {
		known.held = 0
		return after
	}
	known.held++
	return soonest(after, heldDelay(known.held))
}

// isHeldSilently says whether an object waits for something that no watch shows:
// somebody else's object to go, a kind to be served, a deletion to end.
func (p *pass) isHeldSilently() bool {
	if len(p.line.Archiving) > 0 && p.pause == nil {
		return true
	}
	for _, phase := range p.result.Target.Phases {
		for _, object := range phase.Objects {
			if object.Action == revisions.ActionCollision || object.Waiting != "" && p.pause == nil {
				return true
			}
		}
	}
	return false
}

// heldDelay grows from a second to a minute.
func heldDelay(times int) time.Duration {
	return min(time.Second<<min(times-1, 10), time.Minute)
}
