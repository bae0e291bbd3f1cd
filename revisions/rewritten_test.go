// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// settled is an engine that has rolled out a ConfigMap and a Deployment.
type settled struct {
	engine  *revisions.Engine
	in      revisions.Rollout
	cluster *revisionstest.Cluster
}

func newSettled(t *testing.T) *settled {
	t.Helper()
	deployment := revisions.Object{Manifest: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "app", "labels": map[string]any{"version": "2"}},
		"spec":     map[string]any{"image": "v2"},
	}}}
	p := newParts()
	s := &settled{engine: p.engine(t), cluster: p.cluster, in: revisions.Rollout{Owner: benchOwner, Target: onePhase(1, configMap("a", "v2"), deployment), Now: p.cluster.Now()}}
	s.pass(t)
	s.in.Target.Succeeded = true
	return s
}

// pass makes a pass, and returns how many requests it has sent.
func (s *settled) pass(t *testing.T) int {
	t.Helper()
	s.cluster.Requests("engine")
	result, err := s.engine.Reconcile(t.Context(), s.in)
	if err != nil || !result.Target.Complete() {
		t.Fatalf("Reconcile() = %+v, %v", result.Target, err)
	}
	s.in.Target.Records = result.Target.Records
	return len(s.cluster.Requests("engine"))
}

// wait lets time pass for the engine and for the cluster.
func (s *settled) wait(by time.Duration) {
	s.cluster.Advance(by)
	s.in.Now = s.cluster.Now()
}

// object is the one object of a kind.
func (s *settled) object(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range s.cluster.Objects() {
		if object.GetKind() == kind {
			return object
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// as sends a change of an object as another field manager.
func (s *settled) as(t *testing.T, manager, kind string, change map[string]any) {
	t.Helper()
	s.patch(t, s.object(t, kind), types.MergePatchType, change, client.FieldOwner(manager))
}

// apply applies an object as it is, but for a change, under our name.
func (s *settled) apply(t *testing.T, kind string, change func(*unstructured.Unstructured)) {
	t.Helper()
	object := s.object(t, kind)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	change(object)
	s.patch(t, object, types.ApplyPatchType, object.Object, client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership)
}

func (s *settled) patch(t *testing.T, object *unstructured.Unstructured, how types.PatchType, content map[string]any, options ...client.PatchOption) {
	t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cluster.Client("other").Patch(t.Context(), object, client.RawPatch(how, data), options...); err != nil {
		t.Fatal(err)
	}
}

// TestEngine_SameSecond has another client apply objects under our name in the second of
// our own apply, of which managedFields tell nothing.
func TestEngine_SameSecond(t *testing.T) {
	set := func(value string, path ...string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit := func(kind string, value any) map[string]any {
		return map[string]map[string]any{
			"ConfigMap":  {"data": map[string]any{"more": value}},
			"Deployment": {"spec": map[string]any{"replicas": value}},
		}[kind]
	}
	cases := map[string]struct {
		reason, kind string
		change       func(*unstructured.Unstructured)
	}{
		"NoGeneration": {"a ConfigMap has a resourceVersion alone", "ConfigMap", set("v1", "data", "color")},
		"Spec":         {"the generation moves with the spec", "Deployment", set("v1", "spec", "image")},
		"Label":        {"labels do not count for the generation", "Deployment", set("1", "metadata", "labels", "version")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSettled(t)
			want := stateOf(s.cluster)
			s.apply(t, tc.kind, tc.change)
			if stateOf(s.cluster) == want {
				t.Fatal("the other client has changed nothing")
			}
			if sent := s.pass(t); sent != 1 {
				t.Errorf("%d requests to repair it, want 1: %s", sent, tc.reason)
			}
			if got := stateOf(s.cluster); got != want {
				t.Errorf("the objects are %s, want %s: %s", got, want, tc.reason)
			}
			if sent := s.pass(t); sent != 0 {
				t.Errorf("%d requests at rest", sent)
			}
		})
		t.Run(name+"Beside", func(t *testing.T) {
			s := newSettled(t)
			want := stateOf(s.cluster)
			s.apply(t, tc.kind, tc.change)
			s.as(t, "kubectl", tc.kind, edit(tc.kind, "3"))
			s.cluster.Requests("engine")
			if sent := s.passes(t, 10); sent != 1 {
				t.Errorf("%d requests to repair it beside kubectl, want 1: %s", sent, tc.reason)
			}
			s.as(t, "kubectl", tc.kind, edit(tc.kind, nil))
			if got := stateOf(s.cluster); got != want {
				t.Errorf("the objects are %s, want %s: %s", got, want, tc.reason)
			}
		})
	}
}

// passes makes passes, a second after the other, and returns how many requests they have sent.
func (s *settled) passes(t *testing.T, count int) int {
	t.Helper()
	sent := 0
	for range count {
		sent += s.pass(t)
		s.wait(time.Second)
	}
	return sent
}

// stateOf is what other clients may change of the objects.
func stateOf(cluster *revisionstest.Cluster) string {
	var all []any
	for _, object := range cluster.Objects() {
		all = append(all, object.GetLabels(), object.Object["data"], object.Object["spec"])
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestEngine_Explained sends nothing for what managedFields explain, and one request for
// what they do not.
func TestEngine_Explained(t *testing.T) {
	edit := func(s *settled, value string) {
		s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"more": value}})
		s.as(t, "kubectl", "Deployment", map[string]any{"spec": map[string]any{"replicas": value}})
	}
	cases := map[string]struct {
		reason string
		change func(s *settled)
		want   int
	}{
		"Later": {"kubectl has an entry of a later second", func(s *settled) {
			s.wait(time.Second)
			edit(s, "3")
		}, 0},
		"SameSecond": {"kubectl has an entry of the same second, in which another client may have applied each", func(s *settled) {
			edit(s, "3")
		}, 2},
		"OftenInTheSecond": {"what kubectl does in the same second is checked when that is over", func(s *settled) {
			for _, value := range []string{"3", "4", "5"} {
				edit(s, value)
				if sent := s.pass(t); sent != 0 {
					t.Errorf("%d requests within the second", sent)
				}
			}
		}, 2},
		"Status": {"a status is not ours", func(s *settled) {
			s.cluster.SetStatus(revisions.IDOf(s.object(t, "Deployment")), map[string]any{"readyReplicas": int64(1)})
		}, 0},
		"Removed": {"kubectl has removed the only field that it had, which leaves no trace", func(s *settled) {
			s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"more": "x"}})
			s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"more": nil}})
		}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSettled(t)
			s.cluster.Requests("engine")
			tc.change(s)
			if sent := s.passes(t, 10); sent != tc.want {
				t.Errorf("%d requests, want %d: %s", sent, tc.want, tc.reason)
			}
			edit(s, "9")
			if sent := s.passes(t, 3); sent != 0 {
				t.Errorf("%d requests for what comes later: %s", sent, tc.reason)
			}
		})
	}
}

// TestEngine_SettledState verifies an object once after the time in which its state can hide
// anything, and then no more, however often it changes without a trace.
func TestEngine_SettledState(t *testing.T) {
	s := newSettled(t)
	s.wait(2 * time.Minute)
	sent := 0
	for range 5 {
		s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"more": "x"}})
		s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"more": nil}})
		sent += s.pass(t)
		s.wait(time.Second)
	}
	if sent != 1 {
		t.Errorf("%d requests for changes without a trace, want 1", sent)
	}
	s.as(t, "kubectl", "ConfigMap", map[string]any{"data": map[string]any{"color": "v1"}})
	if sent := s.pass(t); sent != 1 {
		t.Errorf("%d requests to repair what kubectl has changed, want 1", sent)
	}
}
