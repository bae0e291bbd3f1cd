// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
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

	"github.com/strata-run/strata/revisions/probes"
)

// task is one object on its way through a pass.
type task struct {
	pass   *pass
	object Object
	// paused says that nothing may be written for the object's revision.
	paused bool
	// updatePhase is the later phase that the object waits for, empty when it does not.
	updatePhase string
	input       decisionInput
	// ignored are the fields that are left to other managers, and reclaimed those that were so
	// before.
	ignored, reclaimed []string
	// doubt says that another actor may have written to the object, so that the history has
	// to be confirmed anew.
	doubt bool
}

// placed is what came of an object in a pass.
type placed struct {
	result ObjectResult
	// state is that in which the object is there and ours, nil when it is not.
	state *unstructured.Unstructured
}

// reconcileObject reads one object, decides, acts and probes.
func (e *Engine) reconcileObject(ctx context.Context, ps *pass, phase string, paused bool, object Object) ObjectResult {
	p := object.prepared
	t := &task{pass: ps, object: object, paused: paused}
	if !paused {
		t.updatePhase = ps.deferred.updatePhase(object)
	}
	out, err := e.placeObject(ctx, phase, t)
	result := out.result
	result.ID, result.Version, result.Err = p.id, p.kind.Version, err
	probe(&result, object, out.state)
	return result
}

// placeObject brings one object into its place. The error is what kept it from that.
func (e *Engine) placeObject(ctx context.Context, phase string, t *task) (placed, error) {
	p, ps := t.object.prepared, t.pass
	if p.err != nil {
		return placed{}, p.err
	}
	// A kind that is not served yet is not watched either, and is left to the next
	// pass.
	if err := ps.served[p.kind]; meta.IsNoMatchError(err) {
		return t.unserved(phase)
	} else if err != nil {
		return placed{}, fmt.Errorf("looking up its kind: %w", err)
	}
	current, err := e.config.Cache.Get(p.kind, keyOf(p.id))
	if err != nil {
		return placed{}, fmt.Errorf("reading: %w", err)
	}
	t.input = decisionInput{
		Owner: ps.Owner, Record: ps.record(p.id), Now: ps.Now,
		CollisionProtection: t.object.CollisionProtection, Retain: t.object.Retain, ForwardOnly: t.object.ForwardOnly,
		UpdatePhase: t.updatePhase, KeptByServing: ps.deferred.keptByServing[p.id],
		Once: t.object.Once,
	}
	t.input.Completed = e.hasCompleted(t.input.Record, p, current)
	out, err := e.place(ctx, t, current)
	// A mapper may not have noticed that the kind is gone.
	if apierrors.IsNotFound(err) && !provenAbsent(err) {
		return t.unserved(phase)
	}
	return out, err
}

// unserved says that the API server does not serve the object's kind. That is an error
// unless the revision brings its definition, which it waits for then.
func (t *task) unserved(phase string) (placed, error) {
	p := t.object.prepared
	if t.pass.defined[p.kind.GroupKind()] {
		return placed{result: ObjectResult{Waiting: "its CustomResourceDefinition is not served yet"}}, nil
	}
	return placed{}, &UnknownKindError{Phase: phase, Object: p.id, Version: p.kind.Version}
}

// decide decides on the state given.
func (t *task) decide(current *unstructured.Unstructured) decision {
	p, in := t.object.prepared, &t.input
	in.Current = currentOf(current, in.Owner)
	t.ignored, t.reclaimed = t.stillIgnored(current)
	in.Content = p.content(in.Owner, in.Retain, t.ignoredInContent())
	in.Conflicting, in.Ignorable = nil, 0
	if in.Current != nil && (in.Record == nil || in.Record.Fields != in.Current.Fields || in.Record.Content != in.Content) {
		in.Conflicting = conflictingManagers(p.desired(in.Owner, in.Retain, t.ignored), current, in.Owner.manager())
		in.Ignorable = len(ignorableFields(p.kind.GroupKind(), in.Conflicting))
	}
	in.Excess = t.excess(current)
	return decide(*in)
}

// request is the manifest as it is to be applied now.
func (t *task) request() *unstructured.Unstructured {
	return t.object.prepared.desired(t.input.Owner, t.input.Retain, t.ignoredFields())
}

// place decides on the state given and performs the decision. What exists without
// being known, what is to be adopted and what is refused is decided on once more by
// its live state: an object of another owner may have gone or changed hands before the
// cache knows. So is what has changed since the cache has seen it.
func (e *Engine) place(ctx context.Context, t *task, current *unstructured.Unstructured) (placed, error) {
	decided := t.decide(current)
	switch {
	case decided.Operation == OperationCreate && t.paused:
		return e.placeLive(ctx, t, nil)
	case decided.Operation == OperationCreate:
		// What was put in place and is gone may have been deleted by the manager that has replaced us.
		t.doubt = t.input.Record != nil
		created, err := e.createNew(ctx, t, decided)
		if !alreadyExists(err) {
			return created, err
		}
		return e.placeLive(ctx, t, err)
	case decided.Operation == OperationAdopt, decided.Operation == OperationRefuse && !t.isKnownBlocker(current):
		return e.placeLive(ctx, t, nil)
	}
	return e.perform(ctx, t, decided, current)
}

// isKnownBlocker says whether the last pass has refused the object in this very state, so that
// there is nothing to read again.
func (t *task) isKnownBlocker(current *unstructured.Unstructured) bool {
	return current != nil && current.GetResourceVersion() != "" && t.pass.KnownBlockers[t.object.prepared.id] == current.GetResourceVersion()
}

// placeLive decides by the live state of an object, and performs the decision. Where a
// create has just met an object that is gone again, its conflict is left to the next pass.
func (e *Engine) placeLive(ctx context.Context, t *task, conflict error) (placed, error) {
	current, err := e.live(ctx, t.object.prepared.kind, t.object.prepared.id)
	switch {
	case apierrors.IsNotFound(err) && t.paused:
		current = nil
	case apierrors.IsNotFound(err) && conflict != nil:
		return placed{}, conflict
	case apierrors.IsNotFound(err):
		decided := t.decide(nil)
		if decided.Operation == OperationCreate {
			return e.createNew(ctx, t, decided)
		}
		return e.perform(ctx, t, decided, nil)
	case err != nil:
		return placed{}, err
	}
	return e.perform(ctx, t, t.decide(current), current)
}

// createNew creates an object that does not exist. That it does after all is an
// error like others.
func (e *Engine) createNew(ctx context.Context, t *task, decided decision) (placed, error) {
	if err := t.pass.Confirm(ctx, t.doubt); err != nil {
		return placed{}, err
	}
	created, err := e.create(ctx, t.input.Owner, t.object.prepared.desired(t.input.Owner, t.input.Retain, nil))
	if err != nil {
		return placed{}, err
	}
	return t.recordInPlace(ObjectResult{}, ActionCreated, decided, created), nil
}

// alreadyExists says whether a create was refused as the object exists.
func alreadyExists(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// perform carries out a decision on the state given.
func (e *Engine) perform(ctx context.Context, t *task, decided decision, current *unstructured.Unstructured) (placed, error) {
	result := ObjectResult{Reason: decided.Reason, Retry: decided.Retry, Excess: t.input.Excess}
	if decided.Drift != "" {
		result.Backoff = t.input.Record.Backoff
	}
	switch decided.Operation {
	case OperationNone, OperationIgnore:
		if current == nil || t.input.Current.Deleting {
			return t.recordDone(result), nil
		}
		return t.recordInPlace(result, ActionUnchanged, decided, current), nil
	case OperationDefer:
		result.Deferred = true
		if current == nil {
			result.Waiting = decided.Reason
		} else {
			result.Action = ActionUnchanged
		}
		return placed{result, current}, nil
	case OperationRefuse:
		result.Action, result.Remedy, result.Blocker = ActionCollision, decided.Remedy, current.GetResourceVersion()
		if lost := t.newlyTakenOver(decided); lost != nil {
			result.Backoff, result.TakenOver = lost, true
		}
		return placed{result: result}, nil
	case OperationWait:
		result.Waiting = decided.Reason
		if decided.Drift == "" || current == nil || t.control() != ControlOurs {
			current = nil
		}
		return placed{result, current}, nil
	case OperationCreate, OperationAdopt, OperationApply, OperationReplace:
	}
	return e.write(ctx, t, decided, current, result)
}

// write carries out a decision to write over the state given, or says what is pending.
func (e *Engine) write(ctx context.Context, t *task, decided decision, current *unstructured.Unstructured, result ObjectResult) (placed, error) {
	// Until it is written to, an object that is ours stays as it is and may serve.
	action, before := ActionUpdated, current
	if decided.Operation == OperationCreate || decided.Operation == OperationAdopt {
		action, before = ActionAdopted, nil
	}
	if t.paused {
		e.dryRunReplace(ctx, t, &decided, current)
		result.Pending, result.Reason, result.Waiting = decided.Operation, decided.Reason, "paused: "+decided.Reason
		return placed{result, before}, nil
	}
	t.doubt = t.doubt || t.isOrphaned()
	if err := t.pass.Confirm(ctx, t.doubt); err != nil {
		return placed{result, before}, err
	}
	applied, err := e.applyOver(ctx, t, decided.Operation, current)
	if apierrors.IsConflict(err) && !t.doubt {
		t.doubt = true
		return e.placeLive(ctx, t, nil)
	}
	if err != nil {
		result.Waiting, err = e.handleRejection(ctx, t, current, err)
		return placed{result, before}, err
	}
	// The API server leaves the resourceVersion alone when an apply changes nothing.
	if action == ActionUpdated && applied.GetResourceVersion() == current.GetResourceVersion() {
		action = ActionUnchanged
	}
	return t.recordInPlace(result, action, decided, applied), nil
}

// dryRunReplace finds out whether what is paused would replace an object rather than update it.
// Only the API server knows, so it is asked with a dry run, for an object that may be
// replaced alone. What keeps it from answering is reported when the object is written.
func (e *Engine) dryRunReplace(ctx context.Context, t *task, decided *decision, current *unstructured.Unstructured) {
	if !t.object.Replace || decided.Operation != OperationApply {
		return
	}
	request := t.request()
	request.SetUID(current.GetUID())
	_, err := e.patch(ctx, t.input.Owner, request, client.DryRunAll)
	if immutable := t.replaces(err); immutable != nil {
		decided.Operation = OperationReplace
		decided.Reason = immutable.Path + " cannot be changed, so it is deleted and created again"
	}
}

// control says whose the object is.
func (t *task) control() Control {
	return controlOf(t.input.Current, t.input.Owner, t.input.Record, t.input.Retain)
}

// isOrphaned says whether our owner reference was taken off an object that is ours. The garbage
// collector does that when the owner is deleted with its dependents orphaned; an object that
// gets the reference back then would be deleted with the owner.
func (t *task) isOrphaned() bool {
	return !t.input.Retain && t.input.Current != nil && t.input.Current.Controller == nil && t.control() == ControlOurs
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
	case ControlNone:
		if t.input.Record != nil {
			return immutable
		}
	case ControlRetained, ControlReleased, ControlForeign:
	}
	return nil
}

// handleRejection takes in that the API server rejected an apply. An object that may be
// replaced is deleted when nothing but its immutable fields stands in the way, and
// created anew when it is gone, which is what it waits for.
func (e *Engine) handleRejection(ctx context.Context, t *task, current *unstructured.Unstructured, err error) (string, error) {
	immutable := t.replaces(err)
	if immutable == nil {
		return "", t.notReplaced(err)
	}
	if err := e.deleteCurrent(ctx, current); err != nil {
		return "", err
	}
	return "it is replaced, as " + immutable.Path + " cannot be changed: its deletion was asked for, and it is created again when it is gone", nil
}

// notReplaced says of an object that would be replaced if it were ours that it is not.
func (t *task) notReplaced(err error) error {
	var immutable *ImmutableError
	if !t.object.Replace || !errors.As(err, &immutable) {
		return err
	}
	return fmt.Errorf("applying: %w", &ImmutableError{Path: immutable.Path, Err: immutable.Err, Foreign: true})
}

// recordInPlace records an object that is in place.
func (t *task) recordInPlace(result ObjectResult, action Action, decided decision, state *unstructured.Unstructured) placed {
	in := &t.input
	result.Action, result.Reason = action, decided.Reason
	record := &Record{UID: state.GetUID(), Action: action, Fields: FieldsDigest(state, in.Owner.manager()), Completed: HasCompleted(state)}
	if action != ActionCreated {
		record.IgnoredFields = t.ignoredFields()
		record.ManifestValues = t.object.prepared.valuesOf(record.IgnoredFields)
	}
	record.Content = t.object.prepared.content(in.Owner, in.Retain, record.IgnoredFields)
	record.State = t.stateAfter(decided, action, state)
	known := in.Record != nil && in.Record.UID == record.UID
	if t.object.ForwardOnly && action == ActionUnchanged {
		// It has been left as another content has made it.
		record.Content = ""
		if known {
			record.Content = in.Record.Content
		}
	}
	switch {
	case in.Now.IsZero():
		// Without a clock a repair now and then looks like one of many in a row.
	case decided.Drift != "" && action != ActionUnchanged:
		result.Repaired = true
		record.Backoff = in.Record.Backoff.next(t.drift(decided.Drift), in.Now, t.otherSlowed())
		result.Backoff = record.Backoff
	case in.Record != nil && !in.Record.Backoff.ended(in.Now):
		record.Backoff = in.Record.Backoff
	}
	if record.Backoff.Slowed(in.Now) {
		result.Backoff = record.Backoff
		result.Retry = soonest(result.Retry, record.Backoff.Next)
	}
	result.Record = record
	return placed{result, state}
}

// recordDone records an object that is gone and need not be there.
func (t *task) recordDone(result ObjectResult) placed {
	record := *t.input.Record
	record.Completed, record.Earlier = t.input.Completed, false
	result.Action, result.Done, result.Record = ActionUnchanged, true, &record
	return placed{result: result}
}

// newlyTakenOver is the back-off after an object was taken over, which counts once for each
// controller that does so; nil when it does not count.
func (t *task) newlyTakenOver(decided decision) *DriftBackoff {
	in := &t.input
	if decided.Drift == "" || in.Now.IsZero() {
		return nil
	}
	found := t.drift(decided.Drift)
	if before := in.Record.Backoff; before != nil && before.Cause == found.cause && before.Manager == found.manager {
		return nil
	}
	return in.Record.Backoff.next(found, in.Now, t.otherSlowed())
}

// drift is what was found of the object, and who did it as far as that is known.
func (t *task) drift(cause DriftCause) drift {
	switch {
	case cause == DriftChanged:
		return driftBy(t.input.changed())
	case cause == DriftTakenOver && t.input.Current.Controller != nil:
		ref := t.input.Current.Controller
		return drift{cause: cause, manager: ref.Kind + " " + ref.Name}
	default:
		return drift{cause: cause}
	}
}

// otherSlowed are how many other objects do not stay as they were left.
func (t *task) otherSlowed() int {
	if b := t.input.Record.Backoff; b != nil && b.Count >= ImmediateRepairs-1 && !b.ended(t.input.Now) {
		return t.pass.slowed - 1
	}
	return t.pass.slowed
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
	absent := cmp.Or(result.Waiting, "not in place")
	result.Probe = probes.Result{Status: probes.Unknown, Message: absent}
	result.Serves = probes.Result{Status: probes.False, Message: absent}
	if result.Done {
		result.Probe = probes.Result{Status: probes.True, Message: result.Reason}
		result.Serves = result.Probe
		return
	}
	if state == nil {
		return
	}
	if result.InPlace() {
		result.Probe = evaluate(object.Probe, state)
	}
	result.Serves = evaluate(object.Serving, state)
}

// evaluate runs a probe on a state. Without a probe it is enough to be there.
func evaluate(probe probes.Probe, state *unstructured.Unstructured) probes.Result {
	if probe == nil {
		return probes.Result{Status: probes.True}
	}
	return probe.Probe(state)
}

func keyOf(id ObjectID) types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}
