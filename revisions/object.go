// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/probes"
)

// reconcileObject reads one object, decides, acts and probes.
func (e *Engine) reconcileObject(ctx context.Context, l *line, phase string, object Object) ObjectResult {
	p := object.prepared
	result := ObjectResult{ID: p.id, Version: p.kind.Version}
	state := e.placeObject(ctx, l, phase, object, &result)
	probe(&result, object, state)
	return result
}

// placeObject brings one object into its place, and returns the state in which it
// is there and ours, nil when it is not.
func (e *Engine) placeObject(ctx context.Context, l *line, phase string, object Object, result *ObjectResult) *unstructured.Unstructured {
	p := object.prepared
	if p.err != nil {
		result.Err = p.err
		return nil
	}
	// A kind that is not served yet is not watched either, and is left to the next
	// pass.
	if err := l.served[p.kind]; err != nil {
		switch {
		case !meta.IsNoMatchError(err):
			result.Err = fmt.Errorf("looking up its kind: %w", err)
		case l.brought[p.kind.GroupKind()]:
			result.Waiting = "its CustomResourceDefinition is not served yet"
		default:
			result.Err = &UnknownKindError{Phase: phase, Object: p.id, Version: p.kind.Version}
		}
		return nil
	}
	current, err := e.config.Cache.Get(p.kind, keyOf(p.id))
	if err != nil {
		result.Err = fmt.Errorf("reading: %w", err)
		return nil
	}
	question := Question{
		Owner: l.owner, Content: p.content(l.owner, object.Retain), Record: l.record(p.id),
		CollisionProtection: object.CollisionProtection, Retain: object.Retain,
	}
	return e.act(ctx, l, result, question, p, current)
}

// act decides on the state given and performs the decision. What exists without
// being known, and what is to be adopted, is decided on once more by its live
// state. It returns the state in which the object is there and ours.
func (e *Engine) act(ctx context.Context, l *line, result *ObjectResult, question Question, p *prepared, current *unstructured.Unstructured) *unstructured.Unstructured {
	question.Current = currentOf(current, question.Owner)
	verdict := decide(question)
	if verdict.Operation != OperationCreate && verdict.Operation != OperationAdopt {
		return e.perform(ctx, l, result, question, verdict, p, current)
	}
	var conflict error
	if verdict.Operation == OperationCreate && !l.paused {
		created, err := e.create(ctx, p.stamp(question.Owner, question.Retain))
		if err == nil {
			e.done(result, ActionCreated, verdict.Reason, question.Content, created)
			return created
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			result.Err = err
			return nil
		}
		conflict = err
	}
	current, err := e.live(ctx, p.kind, p.id)
	switch {
	case apierrors.IsNotFound(err) && l.paused:
		current = nil
	case apierrors.IsNotFound(err) && conflict != nil:
		// It was deleted between the two requests.
		result.Err = conflict
		return nil
	case err != nil:
		result.Err = err
		return nil
	}
	question.Current = currentOf(current, question.Owner)
	return e.perform(ctx, l, result, question, decide(question), p, current)
}

// perform carries out a verdict on the state given.
func (e *Engine) perform(ctx context.Context, l *line, result *ObjectResult, question Question, verdict Verdict, p *prepared, current *unstructured.Unstructured) *unstructured.Unstructured {
	result.Reason = verdict.Reason
	// Until it is written to, an object that is ours stays as it is and may serve.
	before := current
	action := ActionUpdated
	switch verdict.Operation {
	case OperationNone:
		e.done(result, ActionUnchanged, verdict.Reason, question.Content, current)
		return current
	case OperationRefuse:
		result.Action, result.Remedy = ActionCollision, verdict.Remedy
		return nil
	case OperationWait:
		result.Waiting = verdict.Reason
		return nil
	case OperationCreate, OperationAdopt:
		action, before = ActionAdopted, nil
	case OperationApply:
	}
	if l.paused {
		result.Waiting = "paused: " + verdict.Reason
		return before
	}
	applied, err := e.apply(ctx, verdict.Operation, p.stamp(question.Owner, question.Retain), current)
	if err != nil {
		result.Err = err
		return before
	}
	// The API server leaves the resourceVersion alone when an apply changes nothing.
	if action == ActionUpdated && applied.GetResourceVersion() == current.GetResourceVersion() {
		action = ActionUnchanged
	}
	e.done(result, action, verdict.Reason, question.Content, applied)
	return applied
}

// done records an object that is in place.
func (e *Engine) done(result *ObjectResult, action Action, reason, content string, state *unstructured.Unstructured) {
	result.Action, result.Reason = action, reason
	result.Record = &Record{UID: state.GetUID(), Action: action, Content: content, Fields: FieldsDigest(state)}
}

// probe judges the state in which an object is there and ours. It is ready only
// when it is also as it should be.
func probe(result *ObjectResult, object Object, state *unstructured.Unstructured) {
	result.Probe = probes.Result{Status: probes.Unknown, Message: "not in place"}
	result.Serves = probes.Result{Status: probes.False, Message: "not in place"}
	if state == nil {
		return
	}
	if result.InPlace() {
		result.Probe = ask(object.Probe, state)
	}
	result.Serves = ask(object.Serving, state)
}

// ask puts a state to a probe. Without a probe it is enough to be there.
func ask(probe probes.Probe, state *unstructured.Unstructured) probes.Result {
	if probe == nil {
		return probes.Result{Status: probes.True}
	}
	return probe.Probe(state)
}

func keyOf(id ObjectID) types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}
