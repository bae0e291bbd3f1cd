// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/load"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// pass carries what one pass finds from stage to stage.
type pass struct {
	pkg  *v1alpha1.Package
	line history.Line
	now  metav1.Time
	// target and serving are the active revisions as the engine has them.
	target  revisions.Revision
	serving []revisions.Revision
	result  revisions.Result
	pause   *v1alpha1.Pause
	// err is what kept the rollout from being looked at completely.
	err error
}

// rollOut loads the active revisions and makes one pass of the engine over them.
func (w *Worker) rollOut(ctx context.Context, pkg *v1alpha1.Package, line history.Line, known *memory) pass {
	p := pass{pkg: pkg, line: line, now: w.now()}
	if line.Target == nil {
		return p
	}
	p.pause = pauseOf(pkg, line.Target, p.now)
	if p.target, p.err = w.load(ctx, line.Target, known); p.err != nil {
		return p
	}
	for _, revision := range line.Serving {
		loaded, err := w.load(ctx, revision, known)
		if err != nil {
			p.err = err
			return p
		}
		p.serving = append(p.serving, loaded)
	}
	p.result, p.err = w.Engine.Reconcile(ctx, revisions.Rollout{
		Owner: ownerOf(pkg), Target: p.target, Serving: p.serving, Paused: p.pause != nil,
	})
	known.records[line.Target.UID] = p.result.Target.Records
	for i, revision := range line.Serving {
		known.records[revision.UID] = p.result.Serving[i].Records
	}
	return p
}

// load is a revision as the engine has it. Content never changes, so it is loaded
// once.
func (w *Worker) load(ctx context.Context, revision *v1alpha1.Revision, known *memory) (revisions.Revision, error) {
	loaded, ok := known.loaded[revision.UID]
	if !ok {
		var err error
		if loaded, err = load.Revision(ctx, w.Live, revision); err != nil {
			return revisions.Revision{Number: revision.Spec.Revision}, err
		}
		known.loaded[revision.UID] = loaded
	}
	loaded.Succeeded = history.Succeeded(revision)
	if records, newer := known.records[revision.UID]; newer {
		loaded.Records = records
	} else {
		loaded.Records = load.Records(revision.Status.Inventory)
	}
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

// retryable is the part of the pass's error that another try may mend. Content
// that can never be rolled out waits for a new revision.
func (p *pass) retryable() error {
	var invalid *revisions.ValidationError
	var unusable *load.InvalidError
	if errors.As(p.err, &invalid) || errors.As(p.err, &unusable) {
		return nil
	}
	return p.err
}

// after says when to look again without an event: when a pause, a soak or the
// deadline ends, and now and then for what no event tells of.
func (p *pass) after(known *memory) time.Duration {
	if p.line.Target == nil || p.err != nil {
		return 0
	}
	var after time.Duration
	if p.pause != nil && p.pause.Until != nil {
		after = soonest(after, p.pause.Until.Sub(p.now.Time))
	}
	o, current := p.observation(), p.line.Target.Status
	if !history.Succeeded(p.line.Target) && p.pause == nil {
		after = soonest(after, status.DeadlineLeft(current, o.Deadline, p.now.Time))
		if p.result.Target.Complete() {
			after = soonest(after, status.SoakLeft(current, o.Soak, p.now.Time))
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
	var unavailable *content.UnavailableError
	if errors.As(p.err, &unavailable) || len(p.line.Archiving) > 0 {
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
