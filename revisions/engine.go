// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"maps"

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
	// known. Kinds that the user no longer names are given up.
	Ensure(ctx context.Context, user string, kinds []Kind) error
	// Get is the newest known state of an object, nil when none is known. The
	// object must not be changed.
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
	// Listener is told what happens. Optional.
	Listener Listener
	// Concurrency is how many objects of a phase are applied at once. Default 8.
	Concurrency int
}

// Engine rolls out revisions. It keeps no state of its own between calls, and is
// safe for concurrent use by several lines.
type Engine struct {
	config Config
}

// New is an engine for a configuration. It says which required field is missing.
func New(config Config) (*Engine, error) {
	for field, missing := range map[string]bool{
		"Writer": config.Writer == nil, "Live": config.Live == nil,
		"Cache": config.Cache == nil, "Mapper": config.Mapper == nil,
	} {
		if missing {
			return nil, fmt.Errorf("revisions.Config: %s is required", field)
		}
	}
	if config.Concurrency == 0 {
		config.Concurrency = 8
	}
	if config.Concurrency < 0 {
		return nil, fmt.Errorf("revisions.Config: Concurrency is %d and must not be negative", config.Concurrency)
	}
	return &Engine{config: config}, nil
}

// Rollout is one line of revisions as it is wanted now.
type Rollout struct {
	// Owner owns the objects of all revisions.
	Owner Owner
	// Target is the newest active revision.
	Target Revision
	// Serving are the older active revisions, newest first.
	Serving []Revision
	// Paused stops every write. The result says what would be done.
	Paused bool
}

// line carries one call's input through its stages.
type line struct {
	owner  Owner
	paused bool
	// records are what is known of each object, from the newest revision that has
	// put it in place.
	records map[ObjectID]Record
	// mappings are the kinds that the API server serves.
	mappings map[schema.GroupVersionKind]*meta.RESTMapping
}

// Reconcile makes one pass over a line: the target's phases in order up to the
// first that is not complete, then what the serving revisions hold and the target
// has not reached.
//
// The result is always about every phase, also when the error is not nil. The
// error is a *ValidationError when the content can never be rolled out and
// nothing was written; others are worth another try.
func (e *Engine) Reconcile(ctx context.Context, in Rollout) (Result, error) {
	result := pendingResult(in)
	if err := in.Target.Validate(); err != nil {
		return result, err
	}
	l := &line{owner: in.Owner, paused: in.Paused, records: newestRecords(in), mappings: map[schema.GroupVersionKind]*meta.RESTMapping{}}
	preflightErr := e.preflight(ctx, l, in)
	var unknown *UnknownKindError
	if preflightErr != nil && !errors.As(preflightErr, &unknown) {
		return result, preflightErr
	}
	var errs []error
	taken := map[ObjectID]bool{}
	// A kind that nobody serves holds the target back before its first write. What
	// serves is kept all the same.
	if preflightErr == nil {
		errs = append(errs, e.rollTarget(ctx, l, in.Target, &result.Target, taken))
	}
	for i, serving := range in.Serving {
		errs = append(errs, e.keepServing(ctx, l, serving, &result.Serving[i], taken))
	}
	result.Serves = e.serves(in, result)
	return result, errors.Join(append(errs, preflightErr)...)
}

// rollTarget rolls out the target's phases, up to the first that is not complete.
// A target that has succeeded is kept in all its phases.
func (e *Engine) rollTarget(ctx context.Context, l *line, target Revision, result *RevisionResult, taken map[ObjectID]bool) error {
	var errs []error
	for i, phase := range target.Phases {
		objects, err := e.reconcilePhase(ctx, l, phase)
		result.Phases[i].Reached = true
		result.Phases[i].Objects = objects
		for _, object := range objects {
			taken[object.ID] = true
		}
		result.record(objects)
		if err != nil {
			errs = append(errs, fmt.Errorf("phase %s: %w", phase.Name, err))
		}
		if !result.Phases[i].Complete() && !target.Succeeded {
			break
		}
	}
	return errors.Join(errs...)
}

// keepServing repairs what an older revision has put in place and no newer one
// has reached. Objects that it never got to are not started.
func (e *Engine) keepServing(ctx context.Context, l *line, serving Revision, result *RevisionResult, taken map[ObjectID]bool) error {
	var errs []error
	for i, phase := range serving.Phases {
		kept := Phase{Name: phase.Name}
		for _, object := range phase.Objects {
			id := IDOf(object.Manifest)
			if _, placed := serving.Records[id]; placed && !taken[id] {
				kept.Objects = append(kept.Objects, object)
				taken[id] = true
			}
		}
		objects, err := e.reconcilePhase(ctx, l, kept)
		result.Phases[i].Reached = true
		result.Phases[i].Objects = objects
		result.record(objects)
		if err != nil {
			errs = append(errs, fmt.Errorf("keeping revision %d, phase %s: %w", serving.Number, phase.Name, err))
		}
	}
	return errors.Join(errs...)
}

// newestRecords merges the records of all revisions; the newest one's win.
func newestRecords(in Rollout) map[ObjectID]Record {
	records := map[ObjectID]Record{}
	for i := len(in.Serving) - 1; i >= 0; i-- {
		maps.Copy(records, in.Serving[i].Records)
	}
	maps.Copy(records, in.Target.Records)
	return records
}
