// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// world is a cluster with an engine and what a controller persists between passes.
type world struct {
	cluster *revisionstest.Cluster
	engine  *revisions.Engine
	records map[int64]map[revisions.ObjectID]revisions.Record
	// amnesia loses the records of every pass in which a write has failed, as a
	// crash between the write and the status does.
	amnesia bool
	writes  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{cluster: revisionstest.New(), records: map[int64]map[revisions.ObjectID]revisions.Record{}}
	client := w.cluster.Client("engine")
	var err error
	w.engine, err = revisions.New(revisions.Config{
		Writer: client, Live: client, Mapper: w.cluster.Mapper(), Cache: revisionstest.NewCache(w.cluster, benchOwner.Label), Concurrency: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func configMap(name, color string) revisions.Object {
	return revisions.Object{Manifest: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "app"}, "data": map[string]any{"color": color},
	}}}
}

// The revisions of the walk: the second changes, removes, adds and moves objects,
// adopts one without a controller, takes one over, and retains one.
func walkRevisions() (revisions.Revision, revisions.Revision) {
	retained, adopted, taken := configMap("retained", "v1"), configMap("adopted", "v2"), configMap("taken", "v2")
	retained.Retain = true
	adopted.CollisionProtection = revisions.CollisionIfNoController
	taken.CollisionProtection = revisions.CollisionNone
	first := revisions.Revision{Number: 1, Phases: []revisions.Phase{
		{Name: "one", Objects: []revisions.Object{configMap("changed", "v1"), configMap("removed", "v1"), retained}},
		{Name: "two", Objects: []revisions.Object{configMap("kept", "v1"), configMap("moved", "v1")}},
	}}
	second := revisions.Revision{Number: 2, Phases: []revisions.Phase{
		{Name: "one", Objects: []revisions.Object{configMap("changed", "v2"), configMap("moved", "v1"), retained, adopted, taken}},
		{Name: "two", Objects: []revisions.Object{configMap("kept", "v1"), configMap("added", "v2")}},
	}}
	return first.Prepared(), second.Prepared()
}

// settle makes passes until one has written nothing and met no error. It is an
// error when the last of many has.
func (w *world) settle(t *testing.T, pass func() error) {
	t.Helper()
	for range 12 {
		err := pass()
		wrote := len(slices.DeleteFunc(w.cluster.Requests("engine"), func(r revisionstest.Request) bool { return !r.IsWrite() }))
		w.writes += wrote
		if err == nil && wrote == 0 {
			return
		}
	}
	t.Error("it does not come to rest")
}

// roll rolls out a target over the serving revisions.
func (w *world) roll(t *testing.T, target revisions.Revision, serving ...revisions.Revision) {
	t.Helper()
	w.settle(t, func() error {
		in := revisions.Rollout{Owner: benchOwner, Target: target, Serving: slices.Clone(serving)}
		in.Target.Records = w.records[target.Number]
		for i := range in.Serving {
			in.Serving[i].Records, in.Serving[i].Succeeded = w.records[in.Serving[i].Number], true
		}
		result, err := w.engine.Reconcile(t.Context(), in)
		if err != nil && w.amnesia {
			return err
		}
		for _, r := range append(result.Serving, result.Target) {
			w.records[r.Number] = r.Records
		}
		if err == nil && !result.Target.Complete() {
			err = fmt.Errorf("revision %d is not complete", target.Number)
		}
		return err
	})
}

func (w *world) remove(t *testing.T, revision revisions.Revision, keep ...revisions.Revision) {
	t.Helper()
	in := revisions.Teardown{Owner: benchOwner, Revision: revision, Keep: map[revisions.ObjectID]bool{}}
	for _, other := range keep {
		for _, phase := range other.Phases {
			for _, object := range phase.Objects {
				in.Keep[revisions.IDOf(object.Manifest)] = true
			}
		}
	}
	w.settle(t, func() error {
		in.Revision.Records = w.records[revision.Number]
		result, err := w.engine.Teardown(t.Context(), in)
		if err == nil && !result.Complete {
			err = fmt.Errorf("revision %d is not gone", revision.Number)
		}
		return err
	})
}

// walk takes a cluster through install, upgrade, archive and teardown, and returns
// what is on it after each.
func (w *world) walk(t *testing.T) [][]string {
	t.Helper()
	first, second := walkRevisions()
	user := w.cluster.Client("user")
	for name, references := range map[string][]any{
		"adopted": nil, "taken": {map[string]any{"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": "other", "controller": true}},
	} {
		object := configMap(name, "theirs").Manifest
		if references != nil {
			object.Object["metadata"].(map[string]any)["ownerReferences"] = references
		}
		if err := user.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	var states [][]string
	note := func() { states = append(states, contents(w.cluster)) }
	w.roll(t, first)
	note()
	w.roll(t, second, first)
	note()
	w.remove(t, first, second)
	note()
	w.remove(t, second)
	note()
	return states
}

// contents are the objects of a cluster without what differs from run to run.
func contents(cluster *revisionstest.Cluster) []string {
	objects := cluster.Objects()
	all := make([]string, 0, len(objects))
	for _, object := range objects {
		owners := map[types.UID]bool{}
		for _, reference := range object.GetOwnerReferences() {
			owners[reference.UID] = reference.Controller != nil && *reference.Controller
		}
		all = append(all, fmt.Sprint(revisions.IDOf(object), object.Object["data"], object.GetLabels(), owners))
	}
	return all
}

// TestEngine_EveryWriteFails lets each write of a whole life fail once: before it
// has taken effect, after it has, and after it has with the records lost. The same
// must come of it, and then rest.
func TestEngine_EveryWriteFails(t *testing.T) {
	reference := newWorld(t)
	want := reference.walk(t)
	if len(want[1]) != 8 || len(want[2]) != 7 || len(want[3]) != 1 {
		t.Fatalf("the reference run went wrong: %q", want)
	}
	for i := range reference.writes {
		for _, fault := range []struct {
			name    string
			after   bool
			amnesia bool
		}{{name: "Before"}, {name: "After", after: true}, {name: "AfterWithoutRecords", after: true, amnesia: true}} {
			t.Run(fmt.Sprintf("%s%02d", fault.name, i), func(t *testing.T) {
				w := newWorld(t)
				w.amnesia = fault.amnesia
				w.cluster.Fail(revisionstest.Fault{Client: "engine", Verb: revisionstest.VerbAnyWrite, Code: 500, Skip: i, Times: 1, After: fault.after})
				if diff := cmp.Diff(want, w.walk(t)); diff != "" {
					t.Errorf("another end than without the failure (-want +got):\n%s", diff)
				}
				// One write more for each object of the pass in question, at most.
				if w.writes > reference.writes+8 {
					t.Errorf("%d writes, and %d without the failure", w.writes, reference.writes)
				}
			})
		}
	}
}
