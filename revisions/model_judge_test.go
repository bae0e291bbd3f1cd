// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// This file holds what is true after every pass, whatever has happened before.

// judge holds for every call of the engine.
func (w *modelWorld) judge(t *rapid.T, before, after snapshot) {
	if changed := w.cache.Changed(); len(changed) > 0 {
		t.Fatalf("the engine has changed %v in the cache", changed)
	}
	for _, m := range w.line {
		if !bytes.Equal(m.manifests, encodeManifests(t, m.Revision)) {
			t.Fatalf("the engine has changed a manifest of revision %d", m.Number)
		}
	}
	for id, was := range before {
		is := after[id]
		if is == nil || is.GetUID() != was.GetUID() {
			continue
		}
		if !slices.Equal(extrasOf(was), extrasOf(is)) {
			t.Fatalf("%s has lost what other managers have set: %v, was %v", id, extrasOf(is), extrasOf(was))
		}
	}
	for _, state := range []snapshot{before, after} {
		for _, object := range state {
			left := object.GetLabels()[w.owner.Label] == w.owner.Name && revisions.FieldsDigest(object, revisions.DefaultFieldOwner) != ""
			w.ever[object.GetUID()] = w.ever[object.GetUID()] || left || controller(object) == w.owner.UID
		}
	}
	for id, object := range after {
		controllers := slices.DeleteFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Controller == nil || !*ref.Controller })
		if len(controllers) > 1 {
			t.Fatalf("%s has the controllers %v", id, controllers)
		}
	}
}

// judgeWrites says that a pass leaves alone, byte for byte, what is not ours to
// write or is being deleted, and creates nothing that no revision wants.
func (w *modelWorld) judgeWrites(t *rapid.T, active []*modelRevision, before, after snapshot, wasOurs map[types.UID]bool) {
	for id, was := range before {
		if w.mayWrite(active, id, was) && (was.GetDeletionTimestamp() == nil || w.held) {
			continue
		}
		// An apply is bound to the object and not to its state, so that a change of
		// which the cache does not know yet may be met. It still steals nothing, and
		// hits no object that has never been ours.
		stolen := controller(was) != "" && after[id] != nil && controller(after[id]) != controller(was)
		late := w.held && wasOurs[was.GetUID()]
		if after[id] == nil || stolen || !late && !same(was, after[id]) {
			t.Fatalf("%s is not ours to write, and was changed", id)
		}
	}
	for id := range after {
		if before[id] == nil && !wantedAs(active, id, func(revisions.Object) bool { return true }) {
			t.Fatalf("%s was created, and no revision wants it", id)
		}
	}
}

// mayWrite says whether any of the revisions may write an object, by whose it is.
func (w *modelWorld) mayWrite(active []*modelRevision, id revisions.ObjectID, was *unstructured.Unstructured) bool {
	return wantedAs(active, id, func(o revisions.Object) bool {
		label, by := was.GetLabels()[w.owner.Label], controller(was)
		left := label == w.owner.Name && revisions.FieldsDigest(was, revisions.DefaultFieldOwner) != ""
		switch {
		case by == w.owner.UID:
			return true
		case by != "", label != "" && label != w.owner.Name:
			return o.CollisionProtection == revisions.CollisionNone
		case w.onRecord(id, was):
			return true
		case left:
			return o.Retain
		default:
			return o.CollisionProtection == revisions.CollisionNone || o.CollisionProtection == revisions.CollisionIfNoController
		}
	})
}

// judgeDeletes says that nothing is deleted but on condition that it is unchanged, and
// where the engine may.
func (w *modelWorld) judgeDeletes(t *rapid.T, requests []revisionstest.Request, before snapshot, may func(revisions.ObjectID, *unstructured.Unstructured) bool) {
	for _, r := range requests {
		if r.Verb != revisionstest.VerbDelete {
			continue
		}
		if r.Condition != "if unchanged" {
			t.Fatalf("%s was sent without a condition", r)
		}
		if r.Effect == "" {
			continue
		}
		if was := before[r.Object]; was == nil || !may(r.Object, was) {
			t.Fatalf("%s: it was not ours to delete", r)
		}
	}
}

// isOurs says whether an object is the owner's, or the very one that was put in place.
func (w *modelWorld) isOurs(id revisions.ObjectID, was *unstructured.Unstructured) bool {
	return controller(was) == w.owner.UID || controller(was) == "" && w.onRecord(id, was)
}

// standsForOurs says whether an object without a controller was made where the engine has
// put one of ours before.
func (w *modelWorld) standsForOurs(id revisions.ObjectID, was *unstructured.Unstructured) bool {
	return controller(was) == "" && slices.ContainsFunc(w.line, func(m *modelRevision) bool {
		_, known := m.Records[id]
		return known
	})
}

// judgeResult says that a result is about every phase.
func judgeResult(t *rapid.T, in revisions.Rollout, result revisions.Result) {
	if len(result.Serving) != len(in.Serving) {
		t.Fatalf("the result is about %d serving revisions, want %d", len(result.Serving), len(in.Serving))
	}
	for i, r := range append([]revisions.RevisionResult{result.Target}, result.Serving...) {
		revision := append([]revisions.Revision{in.Target}, in.Serving...)[i]
		if r.Number != revision.Number || len(r.Phases) != len(revision.Phases) {
			t.Fatalf("the result is about %d phases of revision %d, want %d of %d", len(r.Phases), r.Number, len(revision.Phases), revision.Number)
		}
		for j, phase := range revision.Phases {
			if r.Phases[j].Name != phase.Name || r.Phases[j].Size != len(phase.Objects) {
				t.Fatalf("the result is about %d objects of phase %s, want %d of %s", r.Phases[j].Size, r.Phases[j].Name, len(phase.Objects), phase.Name)
			}
		}
	}
}

// judgePhases says that a phase which is said to be complete is so, and that no
// phase is begun before those before it are. The cache must not be stale.
func (w *modelWorld) judgePhases(t *rapid.T, target revisions.Revision, result revisions.RevisionResult, before, after snapshot) {
	open := true
	for i, phase := range target.Phases {
		complete := true
		for _, object := range phase.Objects {
			id := revisions.IDOf(object.Manifest)
			complete = complete && w.isReady(object, after[id])
			_, placed := target.Records[id]
			if begun := before[id] == nil && after[id] != nil; begun && !open && !placed && !w.heldByOlder(id) {
				t.Fatalf("%s was created in phase %s, and a phase before it is not complete", id, phase.Name)
			}
		}
		if result.Phases[i].Complete() && !complete {
			t.Fatalf("phase %s is said to be complete, and it is not", phase.Name)
		}
		open = open && complete || target.Succeeded
	}
}

// heldByOlder says whether an older revision may bring an object back.
func (w *modelWorld) heldByOlder(id revisions.ObjectID) bool {
	return slices.ContainsFunc(w.active()[1:], func(m *modelRevision) bool {
		_, contained := objectsOf(m)[id]
		_, placed := m.Records[id]
		return contained && (placed || m.Succeeded)
	})
}

// isReady says whether an object is as a revision wants it, ours, and ready.
func (w *modelWorld) isReady(object revisions.Object, is *unstructured.Unstructured) bool {
	if is == nil || is.GetDeletionTimestamp() != nil || is.GetLabels()[w.owner.Label] != w.owner.Name {
		return false
	}
	if !object.Retain && controller(is) != w.owner.UID {
		return false
	}
	if object.Probe != nil && object.Probe.Probe(is).Status != probes.True {
		return false
	}
	part := bodyOf(revisions.IDOf(is))
	wanted, _ := object.Manifest.Object[part].(map[string]any)
	has, _ := is.Object[part].(map[string]any)
	for field, value := range wanted {
		if has[field] != value && (field != "size" || len(object.Unmanaged) == 0) {
			return false
		}
	}
	return true
}
