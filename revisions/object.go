// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/probes"
)

// task is one object on its way through a pass.
type task struct {
	line   *line
	object Object
	// paused says that nothing may be written for the object's revision.
	paused bool
	// until is the later phase that the object waits for, empty when it does not.
	until    string
	question Question
	// left are the fields that are left to other managers, and back those that are so no more.
	left, back []string
	result     *ObjectResult
	// doubt says that another actor may have written to the object, so that the line has
	// to be confirmed anew.
	doubt bool
}

// reconcileObject reads one object, decides, acts and probes.
func (e *Engine) reconcileObject(ctx context.Context, l *line, phase string, paused bool, object Object) ObjectResult {
	p := object.prepared
	result := ObjectResult{ID: p.id, Version: p.kind.Version}
	t := &task{line: l, object: object, paused: paused, result: &result}
	if !paused {
		t.until = l.late.until(object)
	}
	state := e.placeObject(ctx, phase, t)
	probe(&result, object, state)
	return result
}

// placeObject brings one object into its place, and returns the state in which it
// is there and ours, nil when it is not.
func (e *Engine) placeObject(ctx context.Context, phase string, t *task) *unstructured.Unstructured {
	p, l := t.object.prepared, t.line
	if p.err != nil {
		t.result.Err = p.err
		return nil
	}
	// A kind that is not served yet is not watched either, and is left to the next
	// pass.
	if err := l.served[p.kind]; meta.IsNoMatchError(err) {
		t.unserved(phase)
		return nil
	} else if err != nil {
		t.result.Err = fmt.Errorf("looking up its kind: %w", err)
		return nil
	}
	current, err := e.config.Cache.Get(p.kind, keyOf(p.id))
	if err != nil {
		t.result.Err = fmt.Errorf("reading: %w", err)
		return nil
	}
	t.question = Question{
		Owner: l.owner, Record: l.record(p.id), Now: l.now,
		CollisionProtection: t.object.CollisionProtection, Retain: t.object.Retain, ForwardOnly: t.object.ForwardOnly,
		Until: t.until, Held: l.late.held[p.id],
		Once: t.object.Once,
	}
	t.question.Completed = e.hasCompleted(t.question.Record, p, current)
	state := e.act(ctx, t, current)
	// A mapper may not have noticed that the kind is gone.
	if apierrors.IsNotFound(t.result.Err) && !provenAbsent(t.result.Err) {
		t.unserved(phase)
		return nil
	}
	return state
}

// unserved says that the API server does not serve the object's kind.
func (t *task) unserved(phase string) {
	p := t.object.prepared
	t.result.Err = nil
	if t.line.brought[p.kind.GroupKind()] {
		t.result.Waiting = "its CustomResourceDefinition is not served yet"
	} else {
		t.result.Err = &UnknownKindError{Phase: phase, Object: p.id, Version: p.kind.Version}
	}
}

// ask decides on the state given.
func (t *task) ask(current *unstructured.Unstructured) Verdict {
	p, q := t.object.prepared, &t.question
	q.Current = currentOf(current, q.Owner)
	t.left, t.back = t.leftFields(current)
	q.Content = p.content(q.Owner, q.Retain, t.leftOut())
	q.Rivals, q.Yielding = nil, 0
	if q.Current != nil && (q.Record == nil || q.Record.Fields != q.Current.Fields || q.Record.Content != q.Content) {
		q.Rivals = rivalsOf(p.stamp(q.Owner, q.Retain, t.left), current)
		q.Yielding = len(yieldedTo(p.kind.GroupKind(), q.Rivals))
	}
	q.Excess = t.excess(current)
	return decide(*q)
}

// request is the manifest as it is to be applied now.
func (t *task) request() *unstructured.Unstructured {
	return t.object.prepared.stamp(t.question.Owner, t.question.Retain, t.yields())
}

// act decides on the state given and performs the decision. What exists without
// being known, what is to be adopted and what is refused is decided on once more by
// its live state: somebody else's object may have gone or changed hands before the
// cache knows. So is what has changed since the cache has seen it. It returns the state
// in which the object is there and ours.
func (e *Engine) act(ctx context.Context, t *task, current *unstructured.Unstructured) *unstructured.Unstructured {
	verdict := t.ask(current)
	switch {
	case verdict.Operation == OperationCreate && t.paused:
		return e.actLive(ctx, t, true)
	case verdict.Operation == OperationCreate:
		// What was put in place and is gone may have been taken away by who has replaced us.
		t.doubt = t.question.Record != nil
		created := e.createNew(ctx, t, verdict)
		if created != nil || !isTaken(t.result.Err) {
			return created
		}
		return e.actLive(ctx, t, true)
	case verdict.Operation == OperationAdopt, verdict.Operation == OperationRefuse && !t.isRefused(current):
		return e.actLive(ctx, t, false)
	}
	return e.perform(ctx, t, verdict, current)
}

// isRefused says whether the last pass has refused the object in this very state, so that
// there is nothing to read again.
func (t *task) isRefused(current *unstructured.Unstructured) bool {
	return current != nil && current.GetResourceVersion() != "" && t.line.refused[t.object.prepared.id] == current.GetResourceVersion()
}

// actLive decides by the live state of an object, and performs the decision. Who finds
// nothing where a create was refused leaves it to the next pass.
func (e *Engine) actLive(ctx context.Context, t *task, refused bool) *unstructured.Unstructured {
	current, err := e.live(ctx, t.object.prepared.kind, t.object.prepared.id)
	switch {
	case apierrors.IsNotFound(err) && t.paused:
		current = nil
	case apierrors.IsNotFound(err) && refused:
		return nil // it was deleted between the two requests, and the conflict is told
	case apierrors.IsNotFound(err):
		verdict := t.ask(nil)
		if verdict.Operation == OperationCreate {
			return e.createNew(ctx, t, verdict)
		}
		return e.perform(ctx, t, verdict, nil)
	case err != nil:
		t.result.Err = err
		return nil
	}
	t.result.Err = nil
	return e.perform(ctx, t, t.ask(current), current)
}

// createNew creates an object that does not exist. That it does after all is an
// error of the result like others.
func (e *Engine) createNew(ctx context.Context, t *task, verdict Verdict) *unstructured.Unstructured {
	if t.result.Err = t.line.confirm(ctx, t.doubt); t.result.Err != nil {
		return nil
	}
	created, err := e.create(ctx, t.object.prepared.stamp(t.question.Owner, t.question.Retain, nil))
	if err != nil {
		t.result.Err = err
		return nil
	}
	t.done(ActionCreated, verdict, created)
	return created
}

// isTaken says whether a create was refused as the object exists.
func isTaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// perform carries out a verdict on the state given.
func (e *Engine) perform(ctx context.Context, t *task, verdict Verdict, current *unstructured.Unstructured) *unstructured.Unstructured {
	result := t.result
	result.Reason, result.Retry, result.Excess = verdict.Reason, verdict.Retry, t.question.Excess
	if verdict.Drift != "" {
		result.Backoff = t.question.Record.Backoff
	}
	// Until it is written to, an object that is ours stays as it is and may serve.
	before := current
	action := ActionUpdated
	switch verdict.Operation {
	case OperationNone, OperationYield:
		if current == nil || t.question.Current.Deleting {
			t.rest(verdict)
			return nil
		}
		t.done(ActionUnchanged, verdict, current)
		return current
	case OperationDefer:
		result.Deferred = true
		if current == nil {
			result.Waiting = verdict.Reason
			return nil
		}
		result.Action = ActionUnchanged
		return current
	case OperationRefuse:
		result.Action, result.Remedy, result.Blocker = ActionCollision, verdict.Remedy, current.GetResourceVersion()
		t.lose(verdict)
		return nil
	case OperationWait:
		result.Waiting = verdict.Reason
		if verdict.Drift == "" || current == nil || t.control() != ControlOurs {
			return nil
		}
		return current
	case OperationCreate, OperationAdopt:
		action, before = ActionAdopted, nil
	case OperationApply, OperationReplace:
	}
	if t.paused {
		e.foretell(ctx, t, &verdict, current)
		result.Pending, result.Reason, result.Waiting = verdict.Operation, verdict.Reason, "paused: "+verdict.Reason
		return before
	}
	if result.Err = t.line.confirm(ctx, t.doubt); result.Err != nil {
		return before
	}
	applied, err := e.bring(ctx, t, verdict.Operation, current)
	if apierrors.IsConflict(err) && !t.doubt {
		t.doubt = true
		return e.actLive(ctx, t, false)
	}
	if err != nil {
		e.refused(ctx, t, current, err)
		return before
	}
	// The API server leaves the resourceVersion alone when an apply changes nothing.
	if action == ActionUpdated && applied.GetResourceVersion() == current.GetResourceVersion() {
		action = ActionUnchanged
	}
	t.done(action, verdict, applied)
	return applied
}

// foretell says that what is paused would replace an object rather than update it.
// Only the API server knows, so it is asked with a dry run, for an object that may be
// replaced alone. What keeps it from answering is told when the object is written.
func (e *Engine) foretell(ctx context.Context, t *task, verdict *Verdict, current *unstructured.Unstructured) {
	if !t.object.Replace || verdict.Operation != OperationApply {
		return
	}
	request := t.request()
	request.SetUID(current.GetUID())
	_, err := e.patch(ctx, request, client.DryRunAll)
	if immutable := t.replaces(err); immutable != nil {
		verdict.Operation = OperationReplace
		verdict.Reason = immutable.Path + " cannot be changed, so it is deleted and created anew"
	}
}

// control says whose the object is.
func (t *task) control() Control {
	return controlOf(t.question.Current, t.question.Owner, t.question.Record, t.question.Retain)
}

// replaces is why an apply was refused if the object is to be replaced for that, nil
// otherwise. Besides our own that is an object without a controller that stands where the
// revision has put one before: it was made in the place of ours, and to adopt it would not
// bring that back.
func (t *task) replaces(err error) *ImmutableError {
	var immutable *ImmutableError
	if !t.object.Replace || !errors.As(err, &immutable) {
		return nil
	}
	switch t.control() {
	case ControlOurs:
		return immutable
	case ControlNobody:
		if t.question.Record != nil {
			return immutable
		}
	case ControlRetained, ControlReleased, ControlForeign:
	}
	return nil
}

// refused takes in that the API server did not take an apply. An object that may be
// replaced is deleted when nothing but its immutable fields stands in the way, and
// created anew when it is gone.
func (e *Engine) refused(ctx context.Context, t *task, current *unstructured.Unstructured, err error) {
	immutable := t.replaces(err)
	if immutable == nil {
		t.result.Err = t.unreplaced(err)
		return
	}
	if err := e.deleteCurrent(ctx, current); err != nil {
		t.result.Err = err
		return
	}
	t.result.Waiting = "it is replaced, as " + immutable.Path + " cannot be changed: its deletion was asked for, and it is created again when it is gone"
}

// unreplaced says of an object that would be replaced if it were ours that it is not.
func (t *task) unreplaced(err error) error {
	var immutable *ImmutableError
	if !t.object.Replace || !errors.As(err, &immutable) {
		return err
	}
	return fmt.Errorf("applying: %w", &ImmutableError{Path: immutable.Path, Err: immutable.Err, Foreign: true})
}

// done records an object that is in place.
func (t *task) done(action Action, verdict Verdict, state *unstructured.Unstructured) {
	q, result := &t.question, t.result
	result.Action, result.Reason = action, verdict.Reason
	record := &Record{UID: state.GetUID(), Action: action, Fields: FieldsDigest(state), Completed: HasCompleted(state)}
	if action != ActionCreated {
		record.Yielded = t.yields()
		record.ManifestValues = t.object.prepared.valuesOf(record.Yielded)
	}
	record.Content = t.object.prepared.content(q.Owner, q.Retain, record.Yielded)
	record.State = t.stateAfter(verdict, action, state)
	known := q.Record != nil && q.Record.UID == record.UID
	if t.object.ForwardOnly && action == ActionUnchanged {
		// It has been left as another content has made it.
		record.Content = ""
		if known {
			record.Content = q.Record.Content
		}
	}
	switch {
	case q.Now.IsZero():
		// Without a clock a repair now and then cannot be told from many in a row.
	case verdict.Drift != "" && action != ActionUnchanged:
		result.Repaired = true
		record.Backoff = q.Record.Backoff.after(t.drift(verdict.Drift), q.Now, t.others())
		result.Backoff = record.Backoff
	case q.Record != nil && !q.Record.Backoff.ended(q.Now):
		record.Backoff = q.Record.Backoff
	}
	if record.Backoff.Slowed(q.Now) {
		result.Backoff = record.Backoff
		result.Retry = soonest(result.Retry, record.Backoff.Next)
	}
	result.Record = record
}

// rest records an object that is gone and need not be there.
func (t *task) rest(verdict Verdict) {
	record := *t.question.Record
	record.Completed, record.Earlier = t.question.Completed, false
	t.result.Action, t.result.Reason, t.result.Done, t.result.Record = ActionUnchanged, verdict.Reason, true, &record
}

// lose counts that an object was taken over, once for each controller that does.
func (t *task) lose(verdict Verdict) {
	q := &t.question
	if verdict.Drift == "" || q.Now.IsZero() {
		return
	}
	found := t.drift(verdict.Drift)
	if before := q.Record.Backoff; before == nil || before.Cause != found.cause || before.Manager != found.manager {
		t.result.Backoff, t.result.Lost = before.after(found, q.Now, t.others()), true
	}
}

// drift is what was found of the object, and who did it as far as that is known.
func (t *task) drift(cause DriftCause) drift {
	switch {
	case cause == DriftChanged:
		return driftBy(t.question.changed())
	case cause == DriftTakenOver && t.question.Current.Controller != nil:
		ref := t.question.Current.Controller
		return drift{cause: cause, manager: ref.Kind + " " + ref.Name}
	default:
		return drift{cause: cause}
	}
}

// others are how many other objects do not stay as they were left.
func (t *task) others() int {
	if b := t.question.Record.Backoff; b != nil && b.Count >= freeRepairs-1 && !b.ended(t.question.Now) {
		return t.line.slowed - 1
	}
	return t.line.slowed
}

// hasCompleted says whether an object has done its work: it is seen to have, was seen
// before, or was seen as it went.
func (e *Engine) hasCompleted(record *Record, p *prepared, current *unstructured.Unstructured) bool {
	switch {
	case current != nil:
		return HasCompleted(current)
	case record == nil || p.kind.GroupKind() != jobKind:
		return false
	default:
		return record.Completed || e.config.Completed != nil && e.config.Completed(p.kind, keyOf(p.id), record.UID)
	}
}

// jobKind is the one kind that ends by itself, and whose end a controller may delete.
var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// HasCompleted says whether an object has done its work and need not be there any more:
// a Job that has completed.
func HasCompleted(state *unstructured.Unstructured) bool {
	if state.GroupVersionKind().GroupKind() != jobKind {
		return false
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(state.Object, "status", "conditions")
	list, _ := conditions.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == "Complete" && condition["status"] == "True"
	})
}

// soonest is the earlier of two times, of which the zero time is none.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// probe judges the state in which an object is there and ours. It is ready only
// when it is also as it should be.
func probe(result *ObjectResult, object Object, state *unstructured.Unstructured) {
	result.Probe = probes.Result{Status: probes.Unknown, Message: "not in place"}
	result.Serves = probes.Result{Status: probes.False, Message: "not in place"}
	if result.Done {
		result.Probe = probes.Result{Status: probes.True, Message: result.Reason}
		result.Serves = result.Probe
		return
	}
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
