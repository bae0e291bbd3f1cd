// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is a kind of object to watch.
type Kind struct {
	schema.GroupVersionKind

	// MetadataOnly says that no probe looks into the objects.
	MetadataOnly bool
}

// Cache is the newest known state of managed objects. Reads cost no request.
type Cache interface {
	// Ensure watches the kinds for the user, and returns when their states are
	// known. Each kind stands in the list once. Kinds that the user no longer names
	// are released. A kind that cannot be watched is an error, and must not keep
	// the others from being watched.
	Ensure(ctx context.Context, user string, kinds []Kind) error
	// Get is the newest known state of an object, passed through [Trim], nil when
	// none is known. The object must not be changed. The error says that the kind
	// is not watched.
	Get(kind schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// Observe takes in the state that a write returned, so that a later Get is
	// never older than our own writes.
	Observe(obj *unstructured.Unstructured)
}

// Config is what an engine works with.
type Config struct {
	// Writer sends the writes. Required.
	Writer client.Writer
	// Live reads from the API server, not from a cache. Required.
	Live client.Reader
	// Cache is the newest known state of managed objects. Required.
	Cache Cache
	// Mapper knows which kinds the API server serves. Required.
	Mapper meta.RESTMapper
	// Completed says whether an object that is gone had completed before, if that was
	// seen. Optional: without it a pass has to see it for itself.
	Completed func(kind schema.GroupVersionKind, key types.NamespacedName, uid types.UID) bool
	// Listener is called when something happens. Optional.
	Listener Listener
	// Concurrency is how many objects of a phase are applied at once. Default 8.
	Concurrency int
}

// Engine rolls out revisions. It keeps no state of its own between calls, and is
// safe for concurrent use by several histories.
type Engine struct {
	config Config
}

// New is an engine for a configuration. The error names every required field that is
// missing.
func New(config Config) (*Engine, error) {
	var missing []string
	for _, field := range []struct {
		name   string
		absent bool
	}{
		{"Writer", config.Writer == nil},
		{"Live", config.Live == nil},
		{"Cache", config.Cache == nil},
		{"Mapper", config.Mapper == nil},
	} {
		if field.absent {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("revisions.Config: required and not set: %s", strings.Join(missing, ", "))
	}
	if config.Concurrency == 0 {
		config.Concurrency = 8
	}
	if config.Concurrency < 0 {
		return nil, fmt.Errorf("revisions.Config: Concurrency is %d and must not be negative", config.Concurrency)
	}
	return &Engine{config: config}, nil
}

// Rollout is one history of revisions as it is wanted now.
type Rollout struct {
	// Owner owns the objects of all revisions.
	Owner Owner
	// Target is the newest active revision.
	Target Revision
	// Serving are the older active revisions, newest first.
	Serving []Revision
	// Paused stops every write. The result says of every phase what would be done.
	Paused bool
	// Preflight is called before the first write of the target's content, after the
	// engine's own checks. An error blocks the target; what serves is kept.
	// Optional.
	Preflight func(ctx context.Context) error
	// Confirm is called before every write of an object, and says with an error that the
	// history is not, or not for certain, what it is given as; the object then stays as it
	// is. With doubt set there is a sign that another actor has been at work: an object
	// that was put in place is gone, has lost its owner reference, or is not in the state
	// that was decided on. It has to be safe for concurrent use. Optional.
	Confirm func(ctx context.Context, doubt bool) error
	// KnownBlockers are the resourceVersions of the objects that were in the way in the last pass,
	// see [Result.Blockers]. One that the cache has in the same state is not read again.
	// Optional.
	KnownBlockers map[ObjectID]string
	// Now is the time of the pass, which spaces the repairs of an object that another
	// manager keeps changing. The zero value means that all are repaired at once.
	Now time.Time
}

// Reconcile makes one pass over a history: the target's phases in order up to the
// first that is not complete, then what the serving revisions have and the target
// has not reached.
//
// The result is always about every phase, also when the error is not nil. In the
// error, errors.As finds a *ValidationError when the target's content can never be
// rolled out, and nothing of it was written in this pass; others are worth another
// try. Either way, what serves has been kept.
//
// An object whose result says what it waits for may have to be looked at again
// although no managed object changes: no event says when the API server begins to
// serve a kind.
func (e *Engine) Reconcile(ctx context.Context, in Rollout) (Result, error) {
	in = in.prepared()
	result := pendingResult(in)
	if err := in.Owner.validate(); err != nil {
		return result, err
	}
	ps := newPass(in)
	blocked, err := e.preflight(ctx, ps, in)
	if ctx.Err() != nil {
		return result, errors.Join(ctx.Err(), err)
	}
	errs := []error{err}
	if !blocked {
		errs = append(errs, e.rollTarget(ctx, ps, in.Target, &result.Target))
	}
	reached := map[ObjectID]bool{}
	newer, found := in.Target, result.Target
	for i, serving := range in.Serving {
		markReached(reached, newer, found, in.Paused)
		errs = append(errs, e.keepServing(ctx, ps, serving, &result.Serving[i], reached))
		newer, found = serving, result.Serving[i]
	}
	result.Serves = serves(in, result)
	return result, errors.Join(errs...)
}

// markReached keeps older revisions away from what a revision has reached: what was
// looked at in this pass, and what it has put in place before. An object never
// goes back to older content but by a newer revision. What a paused revision has
// only looked at is still the older one's.
func markReached(reached map[ObjectID]bool, revision Revision, result RevisionResult, allPaused bool) {
	for id := range revision.Records {
		reached[id] = true
	}
	if revision.Paused && !allPaused {
		return
	}
	for _, phase := range result.Phases {
		for _, object := range phase.Objects {
			if !object.Deferred {
				reached[object.ID] = true
			}
		}
	}
}

// rollTarget rolls out the target's phases, up to the first that is not complete.
// Beyond that it only keeps what it has put in place while the gate was open. A
// target that has succeeded is kept in all its phases. What has waited for a phase is
// brought to its content with that phase, and delays the next one like its objects.
func (e *Engine) rollTarget(ctx context.Context, ps *pass, target Revision, result *RevisionResult) error {
	errs := make([]error, 0, len(target.Phases))
	open := true
	for i, phase := range target.Phases {
		if !open {
			phase = phase.only(func(id ObjectID) bool { _, placed := target.Records[id]; return placed })
			if len(phase.Objects) == 0 {
				continue
			}
		}
		paused := ps.Paused || target.Paused
		errs = append(errs, e.runPhase(ctx, ps, "", paused, phase, result, i))
		if paused || !open {
			continue
		}
		ps.deferred.note(phase, i, result.Phases[i].Objects)
		updated, err := e.updateDeferred(ctx, ps, target, phase.Name, result)
		errs = append(errs, err)
		open = result.Phases[i].Complete() && updated || target.Succeeded
	}
	return errors.Join(errs...)
}

// updateDeferred brings the objects that have waited for a phase to their content. Their
// results stand where the objects stand. It says whether all of them are ready.
func (e *Engine) updateDeferred(ctx context.Context, ps *pass, target Revision, phase string, result *RevisionResult) (bool, error) {
	places := ps.deferred.at[phase]
	if len(places) == 0 {
		return true, nil
	}
	deferred := Phase{Name: phase}
	for _, at := range places {
		object := target.Phases[at.phase].Objects[at.object]
		object.UpdatePhase = ""
		deferred.Objects = append(deferred.Objects, object)
	}
	objects, err := e.reconcilePhase(ctx, ps, "", false, deferred)
	result.requireMinReady(deferred, objects, ps.Now)
	result.record(objects, false)
	ready := true
	for i, at := range places {
		result.Phases[at.phase].Objects[at.object] = objects[i]
		ready = ready && objects[i].Ready()
	}
	return ready, err
}

// keepServing repairs what an older revision has put in place and no newer one
// has reached. Objects that it never got to are not started.
func (e *Engine) keepServing(ctx context.Context, ps *pass, serving Revision, result *RevisionResult, reached map[ObjectID]bool) error {
	errs := make([]error, 0, len(serving.Phases))
	for i, phase := range serving.Phases {
		kept := phase.only(func(id ObjectID) bool {
			return serving.has(id) && !reached[id]
		})
		for i := range kept.Objects {
			kept.Objects[i].UpdatePhase = ""
		}
		errs = append(errs, e.runPhase(ctx, ps, fmt.Sprintf("revision %d, ", serving.Number), ps.Paused || serving.Paused, kept, result, i))
	}
	return errors.Join(errs...)
}

// runPhase reconciles the objects of a phase and takes in the results.
func (e *Engine) runPhase(ctx context.Context, ps *pass, revision string, paused bool, phase Phase, result *RevisionResult, i int) error {
	objects, err := e.reconcilePhase(ctx, ps, revision, paused, phase)
	result.Phases[i].Reached = true
	result.Phases[i].Objects = objects
	result.requireMinReady(phase, objects, ps.Now)
	result.record(objects, paused)
	return err
}
