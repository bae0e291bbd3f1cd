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

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// rollout is what the engine has made of the active revisions.
type rollout struct {
	// identity is whom the pass acts as.
	identity Identity
	// target and serving are the active revisions as the engine has them, without
	// phases where they could not be loaded.
	target  revisions.Revision
	serving []revisions.Revision
	result  revisions.Result
	// targetDigest is that of the target's content.
	targetDigest string
	// err is what kept the pass of the engine from being complete.
	err error
	// unwatched is why not every object that is in the way is watched.
	unwatched error
	// unloaded says, by its number, what kept an active revision from being loaded.
	// That of a serving one delays no other.
	unloaded map[int64]error
}

// rollOut loads the active revisions and makes one pass of the engine over them.
// The error says that the package's identity could not be taken on.
func (p *pass) rollOut(ctx context.Context) (err error) {
	p.rolled.unloaded = map[int64]error{}
	if p.rolled.identity, err = p.Identities.For(p.pkg.Spec.ServiceAccount); err != nil {
		return err
	}
	target := p.history.Target
	if target == nil {
		p.rolled.unwatched = p.Watches.Block(string(p.pkg.UID), p.pkg.Name, nil)
		return nil
	}
	in := revisions.Rollout{Owner: ownerOf(p.pkg), Paused: p.decided.isPaused, Now: p.now.Time, KnownBlockers: p.state.blockers, Confirm: p.confirm}
	p.rolled.target, in.Target = p.loadFor(ctx, target)
	if p.awaits() != "" {
		in.Target.Paused = true
	}
	if in.Target.Paused || p.decided.isPaused || p.pkg.Spec.OnFailure == v1alpha1.FailureRollback {
		p.rolled.targetDigest, _ = p.digest(ctx, target) // what keeps it from being read is in unloaded
	}
	for _, revision := range p.history.Serving {
		loaded, given := p.loadFor(ctx, revision)
		p.rolled.serving, in.Serving = append(p.rolled.serving, loaded), append(in.Serving, given)
	}
	in.Preflight = func(ctx context.Context) error { return p.check(ctx, in) }
	p.reconcile(ctx, in)
	if err := p.rolled.unloaded[target.Spec.Revision]; err != nil {
		p.rolled.err = err
	}
	p.judgeUnloaded()
	p.keepRecords(in)
	p.state.blockers = map[revisions.ObjectID]string{}
	for _, blocker := range p.rolled.result.Blockers() {
		p.state.blockers[blocker.ID] = blocker.ResourceVersion
	}
	p.rolled.unwatched = p.Watches.Block(string(p.pkg.UID), p.pkg.Name, p.rolled.result.Blockers())
	return nil
}

// reconcile makes a pass of the engine. What comes of it came about when it is over: a pass
// may take many seconds.
func (p *pass) reconcile(ctx context.Context, in revisions.Rollout) {
	limited, end := context.WithTimeout(ctx, passLimit)
	defer end()
	p.rolled.result, p.rolled.err = p.rolled.identity.Engine.Reconcile(limited, in)
	p.now = p.Worker.now()
}

// keepRecords keeps the newest records of the revisions that are rolled out. What was only
// read is not a revision's.
func (p *pass) keepRecords(in revisions.Rollout) {
	if in.Paused {
		return
	}
	if !in.Target.Paused {
		p.state.of(p.history.Target).records = p.rolled.result.Target.Records
	}
	for i, revision := range p.history.Serving {
		if !in.Serving[i].Paused {
			p.state.of(revision).records = p.rolled.result.Serving[i].Records
		}
	}
}

// loadFor loads a revision for the pass. What is given to the engine in place of
// content that could not be loaded is a phase without a name: the engine refuses
// it, writes nothing for it, and keeps what other revisions have in place.
func (p *pass) loadFor(ctx context.Context, revision *v1alpha1.Revision) (loaded, given revisions.Revision) {
	loaded, err := p.load(ctx, revision)
	if overtaken := p.overtaken(); len(overtaken) > 0 {
		loaded.Records = maps.Clone(loaded.Records)
		maps.DeleteFunc(loaded.Records, func(id revisions.ObjectID, _ revisions.Record) bool { return overtaken[id] })
	}
	given = loaded
	given.Paused = revision.Spec.LifecycleState == v1alpha1.LifecyclePaused
	if err != nil {
		p.rolled.unloaded[revision.Spec.Revision] = err
		given.Phases = []revisions.Phase{{}}
	}
	return loaded, given
}

// overtaken are the objects that revisions newer than the target have put in place
// and that are being torn down. What older ones have on record of them is out of
// date: our own entry of managed fields looks the same with another value.
func (p *pass) overtaken() map[revisions.ObjectID]bool {
	objects := map[revisions.ObjectID]bool{}
	for _, revision := range p.history.Archiving {
		if revision.Spec.Revision < p.history.Target.Spec.Revision {
			continue
		}
		for id := range p.state.recordsOf(revision) {
			objects[id] = true
		}
	}
	return objects
}

// judgeUnloaded says that it is unknown whether the workloads are available, when
// that depends on content that could not be loaded.
func (p *pass) judgeUnloaded() {
	if p.rolled.result.Target.Complete() || p.rolled.target.Succeeded {
		return
	}
	for _, revision := range append([]*v1alpha1.Revision{p.history.Target}, p.history.Serving...) {
		if !history.Succeeded(revision) {
			continue
		}
		if err := p.rolled.unloaded[revision.Spec.Revision]; err != nil {
			p.rolled.result.Serves = probes.Result{Status: probes.Unknown, Message: fmt.Sprintf("revision %d could not be checked: %v", revision.Spec.Revision, err)}
		}
		return
	}
}

// load is a revision as the engine has it. Content never changes, so what was loaded
// is used again. With an error it has no phases, and counts as one that has not succeeded.
func (p *pass) load(ctx context.Context, revision *v1alpha1.Revision) (revisions.Revision, error) {
	state, records := p.state.of(revision), p.state.recordsOf(revision)
	cached := state.loaded.get()
	if cached == nil {
		read, err := content.LoadRevision(ctx, p.Contents, revision)
		if err != nil {
			return revisions.Revision{Number: revision.Spec.Revision, Records: records}, err
		}
		cached = &read
		state.loaded = cacheContent(revision, cached)
	}
	loaded := *cached
	loaded.Succeeded, loaded.Records = history.Succeeded(revision), records
	return loaded, nil
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
		Loaded: p.rolled.target, Result: p.rolled.result.Target, Serves: p.rolled.result.Serves, Err: p.rolled.err, Now: p.now, Serving: p.rolled.serving,
		Pause: p.decided.pause, Unapproved: p.awaits(), Digest: p.rolled.targetDigest, Deadline: p.deadline(),
	}
	if p.pkg.Spec.Soak != nil {
		o.Soak = p.pkg.Spec.Soak.Duration
	}
	if p.isOverdue() {
		_, _, o.NoRollback = p.history.AnswerFailure(p.pkg, p.failure())
		if o.NoRollback == "" && p.state.noRollback != "" {
			o.NoRollback = "it is left where it is, as " + p.state.noRollback
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

// sort sorts the history anew, by the states that the pass has written.
func (p *pass) sort() {
	target, split := p.history.Target, len(p.history.Waiting) > 0
	p.history = history.Sort(p.pkg, p.all())
	if split {
		p.history = p.history.Before(p.history.Find(target.Spec.Revision))
	}
}

// all are the revisions, with the statuses that the pass has written.
func (p *pass) all() []v1alpha1.Revision {
	var all []v1alpha1.Revision
	for _, revision := range p.history.All() {
		all = append(all, *revision)
	}
	return all
}

// hasSucceeded says that the target was rolled out once, which is on record.
func (p *pass) hasSucceeded() bool {
	return p.history.Target != nil && history.Succeeded(p.history.Target)
}

// retryable is the part of the pass's errors that another try may mend. Content
// that can never be rolled out waits for a new revision.
func (p *pass) retryable() error {
	errs := []error{p.rolled.err}
	for i, serving := range p.rolled.serving {
		errs = append(errs, p.rolled.unloaded[serving.Number])
		if !isInvalid(p.rolled.err) {
			continue // what serves is part of it
		}
		for _, phase := range p.rolled.result.Serving[i].Phases {
			for _, object := range phase.Objects {
				errs = append(errs, object.Err)
			}
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return isInvalid(err) || isPreflight(err) })...)
}

// isInvalid says that an error is about content that can never be rolled out.
func isInvalid(err error) bool {
	var invalid *revisions.ValidationError
	var unusable *content.InvalidError
	return errors.As(err, &invalid) || errors.As(err, &unusable)
}
