// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

const generation = 3

func at(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0).UTC()) }

// stand is where an object of a pass stands.
type stand string

const (
	ready     stand = "ready"
	failing   stand = "failing"
	undecided stand = "undecided"
	blocked   stand = "blocked"
	refused   stand = "refused"
	colliding stand = "colliding"
)

// phase is one phase of a pass: its name, and its objects by where they stand. A
// phase that was not reached has a size alone.
type phase struct {
	name    string
	objects []stand
	size    int
}

func objectID(phase string, index int) revisions.ObjectID {
	return revisions.ObjectID{
		GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "istio-system", Name: fmt.Sprintf("%s-%d", phase, index),
	}
}

func manifest(id revisions.ObjectID) *unstructured.Unstructured {
	m := &unstructured.Unstructured{}
	m.SetGroupVersionKind(id.WithVersion("v1"))
	m.SetNamespace(id.Namespace)
	m.SetName(id.Name)
	return m
}

// resultOf is what the engine would say of an object.
func resultOf(id revisions.ObjectID, s stand) revisions.ObjectResult {
	result := revisions.ObjectResult{ID: id, Version: "v1", Probe: probes.Result{Status: probes.Unknown, Message: "not in place"}}
	record := &revisions.Record{UID: types.UID("uid-" + id.Name), Action: revisions.ActionCreated, Content: "c", Fields: "f"}
	switch s {
	case ready:
		result.Action, result.Record, result.Probe = revisions.ActionCreated, record, probes.Result{Status: probes.True}
	case failing:
		result.Action, result.Record, result.Probe = revisions.ActionCreated, record, probes.Result{Status: probes.False, Message: "0 of 1 replicas are available"}
	case undecided:
		result.Action, result.Record, result.Probe = revisions.ActionCreated, record, probes.Result{Status: probes.Unknown}
	case blocked:
		result.Waiting = "it is being deleted"
	case refused:
		result.Err = errors.New("applying: admission webhook says no")
	case colliding:
		result.Action, result.Reason, result.Remedy = revisions.ActionCollision, "it is controlled by Other x", "delete it"
	}
	return result
}

// pass is the engine's input and output for a revision whose phases stand so.
func pass(phases ...phase) (revisions.Revision, revisions.RevisionResult) {
	loaded := revisions.Revision{Number: 2, Phases: []revisions.Phase{}}
	result := revisions.RevisionResult{Number: 2, Records: map[revisions.ObjectID]revisions.Record{}}
	for _, p := range phases {
		size := max(p.size, len(p.objects))
		next := revisions.Phase{Name: p.name}
		outcome := revisions.PhaseResult{Name: p.name, Size: size, Reached: len(p.objects) > 0}
		for i := range size {
			next.Objects = append(next.Objects, revisions.Object{Manifest: manifest(objectID(p.name, i))})
		}
		for i, s := range p.objects {
			object := resultOf(objectID(p.name, i), s)
			outcome.Objects = append(outcome.Objects, object)
			if object.Record != nil {
				result.Records[object.ID] = *object.Record
			}
		}
		loaded.Phases = append(loaded.Phases, next)
		result.Phases = append(result.Phases, outcome)
	}
	return loaded, result
}

// observe is the observation of a pass at the time given, with a deadline of ten
// minutes.
func observe(now int64, phases ...phase) status.Observation {
	loaded, result := pass(phases...)
	return status.Observation{
		Loaded: loaded, Result: result, Now: at(now), Deadline: 10 * time.Minute,
		Serves: probes.Result{Status: probes.False, Message: "no revision has succeeded yet"},
	}
}

// revisionOf is a revision with phases of the names and the sizes given.
func revisionOf(number int64, phases ...phase) *v1alpha1.Revision {
	r := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName("istiod", number), Generation: generation},
		Spec: v1alpha1.RevisionSpec{
			Package: "istiod", Revision: number, LifecycleState: v1alpha1.LifecycleActive, Origin: &v1alpha1.Origin{AppVersion: "1.29.0"},
		},
	}
	for _, p := range phases {
		r.Spec.Phases = append(r.Spec.Phases, v1alpha1.Phase{Name: p.name, Objects: make([]v1alpha1.Object, max(p.size, len(p.objects)))})
	}
	return r
}

// checkPackage checks a status that is about the present generation.
func checkPackage(t *testing.T, pkg *v1alpha1.Package) {
	t.Helper()
	statustest.Package(t, pkg)
	if pkg.Status.ObservedGeneration != pkg.Generation {
		t.Errorf("the status is about generation %d, want %d", pkg.Status.ObservedGeneration, pkg.Generation)
	}
}

// checkRevision checks a status that is about the present generation.
func checkRevision(t *testing.T, revision *v1alpha1.Revision) {
	t.Helper()
	statustest.Revision(t, revision)
	if revision.Status.ObservedGeneration != revision.Generation {
		t.Errorf("the status is about generation %d, want %d", revision.Status.ObservedGeneration, revision.Generation)
	}
}
