// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// pass carries what one pass finds from stage to stage.
type pass struct {
	pkg  *v1alpha1.Package
	line history.History
	now  metav1.Time
	// identity is whom the pass acts as.
	identity Identity
	// proof says whether what the pass goes by is current.
	proof *proof
	// target and serving are the active revisions as the engine has them, without
	// phases where they could not be loaded.
	target  revisions.Revision
	serving []revisions.Revision
	result  revisions.Result
	// isPaused says that nothing of the package may be written, pause why nothing of
	// the target may be, and withheld what the target waits for before it may begin.
	isPaused bool
	pause    *v1alpha1.Pause
	withheld string
	// digest is that of the target's content.
	digest string
	// stuck is why the last pass could not roll back automatically, empty when it did not try.
	stuck string
	// err is what kept the rollout from being looked at completely.
	err error
	// unwatched is why not every object that is in the way is watched.
	unwatched error
	// unloaded says, by its number, what kept an active revision from being loaded.
	// That of a serving one holds up no other.
	unloaded map[int64]error
	// did is what the pass has done that is in no status.
	did doings
}

// rollOut loads the active revisions and makes one pass of the engine over them.
// The error says that the package's identity could not be taken on.
func (w *Worker) rollOut(ctx context.Context, pkg *v1alpha1.Package, line history.History, known *memory) (pass, error) {
	p := pass{pkg: pkg, line: line, now: w.now(), proof: &proof{}, stuck: known.stuck, unloaded: map[int64]error{}, did: doings{removed: map[types.UID][]revisions.RemovedObject{}}}
	var err error
	if p.identity, err = w.Identities.For(pkg.Spec.ServiceAccount); err != nil {
		return p, err
	}
	p.pause = history.PauseOf(pkg, p.now.Time)
	p.isPaused = p.pause != nil
	if line.Target == nil {
		p.unwatched = w.Watches.Block(string(pkg.UID), pkg.Name, nil)
		return p, nil
	}
	rollout := revisions.Rollout{Owner: ownerOf(pkg), Paused: p.isPaused, Now: p.now.Time, KnownBlockers: known.refused}
	rollout.Confirm = func(ctx context.Context, doubt bool) error { return w.confirm(ctx, &p, known, doubt) }
	p.target, rollout.Target = w.loadFor(ctx, &p, line.Target, known)
	if p.withheld = w.withheld(ctx, pkg, line, line.Target, known); p.withheld != "" {
		rollout.Target.Paused = true
	} else if rollout.Target.Paused && p.pause == nil {
		p.pause = &v1alpha1.Pause{Reason: status.PausedRevision(line.Target)}
	}
	if rollout.Target.Paused || p.isPaused || pkg.Spec.OnFailure == v1alpha1.FailureRollback {
		p.digest, _ = w.digest(ctx, line.Target, known) // what keeps it from being read is in unloaded
	}
	for _, revision := range line.Serving {
		loaded, given := w.loadFor(ctx, &p, revision, known)
		p.serving, rollout.Serving = append(p.serving, loaded), append(rollout.Serving, given)
	}
	rollout.Preflight = func(ctx context.Context) error { return w.check(ctx, &p, rollout, known) }
	p.result, p.err = w.reconcile(ctx, &p, rollout)
	if err := p.unloaded[line.Target.Spec.Revision]; err != nil {
		p.err = err
	}
	p.judgeUnloaded()
	known.take(&p, rollout)
	known.refused = map[revisions.ObjectID]string{}
	for _, blocker := range p.result.Blockers() {
		known.refused[blocker.ID] = blocker.ResourceVersion
	}
	p.unwatched = w.Watches.Block(string(pkg.UID), pkg.Name, p.result.Blockers())
	return p, nil
}

// reconcile makes a pass of the engine. What comes of it came about when it is over: a pass
// may take many seconds.
func (w *Worker) reconcile(ctx context.Context, p *pass, rollout revisions.Rollout) (revisions.Result, error) {
	limited, end := context.WithTimeout(ctx, passLimit)
	defer end()
	result, err := p.identity.Engine.Reconcile(limited, rollout)
	p.now = w.now()
	return result, err
}

// take notes the newest records of the revisions that are rolled out. What was only
// looked at is not a revision's.
func (m *memory) take(p *pass, rollout revisions.Rollout) {
	if rollout.Paused {
		return
	}
	if !rollout.Target.Paused {
		m.records[p.line.Target.UID] = p.result.Target.Records
	}
	for i, revision := range p.line.Serving {
		if !rollout.Serving[i].Paused {
			m.records[revision.UID] = p.result.Serving[i].Records
		}
	}
}

// loadFor loads a revision for the pass. What is given to the engine in place of
// content that could not be loaded is a phase without a name: the engine refuses
// it, writes nothing for it, and keeps what other revisions hold.
func (w *Worker) loadFor(ctx context.Context, p *pass, revision *v1alpha1.Revision, known *memory) (loaded, given revisions.Revision) {
	loaded, err := w.load(ctx, revision, known)
	if overtaken := p.overtaken(known); len(overtaken) > 0 {
		loaded.Records = maps.Clone(loaded.Records)
		maps.DeleteFunc(loaded.Records, func(id revisions.ObjectID, _ revisions.Record) bool { return overtaken[id] })
	}
	given = loaded
	given.Paused = revision.Spec.LifecycleState == v1alpha1.LifecyclePaused
	if err != nil {
		p.unloaded[revision.Spec.Revision] = err
		given.Phases = []revisions.Phase{{}}
	}
	return loaded, given
}

// judgeUnloaded says that it is unknown whether the workloads are available, when
// that depends on content that could not be loaded.
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

// load is a revision as the engine has it. Content never changes, so what was loaded
// is used again. With an error it has no phases, and counts as one that has not succeeded.
func (w *Worker) load(ctx context.Context, revision *v1alpha1.Revision, known *memory) (revisions.Revision, error) {
	records := known.recordsOf(revision)
	kept := known.loaded[revision.UID].get()
	if kept == nil {
		read, err := content.LoadRevision(ctx, w.Contents, revision)
		if err != nil {
			return revisions.Revision{Number: revision.Spec.Revision, Records: records}, err
		}
		kept = &read
		known.loaded[revision.UID] = hold(revision, kept)
	}
	loaded := *kept
	loaded.Succeeded, loaded.Records = history.Succeeded(revision), records
	return loaded, nil
}

// recordsOf are the newest records of what a revision has put in place.
func (m *memory) recordsOf(revision *v1alpha1.Revision) map[revisions.ObjectID]revisions.Record {
	if records, newer := m.records[revision.UID]; newer {
		return records
	}
	return content.Records(revision.Status)
}

func ownerOf(pkg *v1alpha1.Package) revisions.Owner {
	return revisions.Owner{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name,
		UID: pkg.UID, Label: v1alpha1.LabelPackage,
	}
}

// observation is what the pass has found about the target.
func (p *pass) observation() status.Observation {
	o := status.Observation{
		Loaded: p.target, Result: p.result.Target, Serves: p.result.Serves, Err: p.err, Now: p.now, Serving: p.serving,
		Pause: p.pause, Unapproved: p.withheld, Digest: p.digest, Deadline: p.deadline(),
	}
	if p.pkg.Spec.Soak != nil {
		o.Soak = p.pkg.Spec.Soak.Duration
	}
	if p.isOverdue() {
		_, _, o.NoRollback = p.line.AnswerFailure(p.pkg, p.failure())
		if o.NoRollback == "" && p.stuck != "" {
			o.NoRollback = "it is left where it is, as " + p.stuck
		}
	}
	return o
}

// deadline is how long the rollout may go without progress, 0 for ever.
func (p *pass) deadline() time.Duration {
	if p.pkg.Spec.ProgressDeadline == nil {
		return 0
	}
	return p.pkg.Spec.ProgressDeadline.Duration
}

// sort sorts the line anew, by the states that the pass has written.
func (p *pass) sort() {
	target, split := p.line.Target, len(p.line.Waiting) > 0
	p.line = history.Sort(p.pkg, p.revisions())
	if split {
		p.line = p.line.Before(p.line.Find(target.Spec.Revision))
	}
}

// hasSucceeded says that the target was rolled out once, which is on record.
func (p *pass) hasSucceeded() bool { return p.line.Target != nil && history.Succeeded(p.line.Target) }

// revisions are all of the line, with the statuses that the pass has written.
func (p *pass) revisions() []v1alpha1.Revision {
	var all []v1alpha1.Revision
	if p.line.Target != nil {
		all = append(all, *p.line.Target)
	}
	for _, group := range [][]*v1alpha1.Revision{p.line.Waiting, p.line.Serving, p.line.Archiving, p.line.Archived} {
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
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return isInvalid(err) || isHeldBack(err) })...)
}

// isInvalid says that an error is about content that can never be rolled out.
func isInvalid(err error) bool {
	var invalid *revisions.ValidationError
	var unusable *content.InvalidError
	return errors.As(err, &invalid) || errors.As(err, &unusable)
}
