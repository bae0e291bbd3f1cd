// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/probes"
)

// reconcileObject reads one object, decides, acts and probes.
func (e *Engine) reconcileObject(ctx context.Context, l *line, object Object) ObjectResult {
	desired := stamp(object, l.owner)
	result := ObjectResult{ID: IDOf(desired), Version: desired.GroupVersionKind().Version}
	content, err := contentDigest(desired)
	if err != nil {
		result.Err = err
		return result
	}
	// Preflight has looked up every kind. One that was not served then is not
	// watched either, and is left to the next pass.
	if _, served := l.mappings[desired.GroupVersionKind()]; !served {
		result.Waiting = "its CustomResourceDefinition is not served yet"
		return result
	}
	current, err := e.config.Cache.Get(desired.GroupVersionKind(), keyOf(desired))
	if err != nil {
		result.Err = fmt.Errorf("reading: %w", err)
		return result
	}
	question := Question{
		Owner: l.owner, Content: content, Record: l.record(result.ID),
		CollisionProtection: object.CollisionProtection, Retain: object.Retain,
	}
	current = e.act(ctx, l, &result, question, desired, current)
	probe(&result, object, current)
	return result
}

// act decides on the state given and performs the decision. An object that turns
// out to exist is read live and decided on again, once. It returns the state
// after, nil when the object is not in place.
func (e *Engine) act(ctx context.Context, l *line, result *ObjectResult, question Question, desired, current *unstructured.Unstructured) *unstructured.Unstructured {
	question.Current = currentOf(current, question.Owner)
	verdict := decide(question)
	if verdict.Operation == OperationCreate && !l.paused {
		created, err := e.create(ctx, desired)
		if err == nil {
			e.done(result, ActionCreated, verdict.Reason, question.Content, created)
			return created
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			result.Err = err
			return nil
		}
	}
	// What exists without being known, and what is to be adopted, is decided on by
	// its live state.
	if !l.paused && (verdict.Operation == OperationCreate || verdict.Operation == OperationAdopt) {
		var err error
		if current, err = e.live(ctx, desired); err != nil {
			result.Err = err
			return nil
		}
		question.Current = currentOf(current, question.Owner)
		verdict = decide(question)
	}
	return e.perform(ctx, l, result, question, verdict, desired, current)
}

func (e *Engine) perform(ctx context.Context, l *line, result *ObjectResult, question Question, verdict Verdict, desired, current *unstructured.Unstructured) *unstructured.Unstructured {
	result.Reason = verdict.Reason
	switch verdict.Operation {
	case OperationNone:
		e.done(result, ActionUnchanged, verdict.Reason, question.Content, current)
		return current
	case OperationRefuse:
		result.Action, result.Remedy = ActionCollision, verdict.Remedy
		return nil
	case OperationWait, OperationCreate:
		result.Waiting = verdict.Reason
		return nil
	}
	if l.paused {
		result.Waiting = "paused: " + verdict.Reason
		return nil
	}
	action := ActionUpdated
	if verdict.Operation == OperationAdopt {
		action = ActionAdopted
	}
	applied, err := e.apply(ctx, verdict.Operation, desired, current)
	if err != nil {
		result.Err = err
		return nil
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

// probe judges the state of an object that is in place.
func probe(result *ObjectResult, object Object, state *unstructured.Unstructured) {
	if state == nil {
		result.Probe = probes.Result{Status: probes.Unknown, Message: "not in place"}
		result.Serves = probes.Result{Status: probes.Unknown, Message: "not in place"}
		return
	}
	result.Probe = probes.Result{Status: probes.True}
	if object.Probe != nil {
		result.Probe = object.Probe.Probe(state)
	}
	result.Serves = probes.Result{Status: probes.True}
	if object.Serving != nil {
		result.Serves = object.Serving.Probe(state)
	}
}

func (l *line) record(id ObjectID) *Record {
	record, known := l.records[id]
	if !known {
		return nil
	}
	return &record
}

func keyOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
