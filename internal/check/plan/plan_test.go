// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "app"}, "data": map[string]any{"k": value},
	}}
}

func packed(t *testing.T, manifests ...*unstructured.Unstructured) content.Packed {
	t.Helper()
	phase := content.Phase{Name: "all"}
	for _, m := range manifests {
		phase.Objects = append(phase.Objects, content.Object{Manifest: m})
	}
	p, err := content.Pack([]content.Phase{phase}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func next(line history.History, pkg *v1alpha1.Package, p content.Packed) *v1alpha1.Revision {
	return line.Next(pkg, history.Content{Phases: p.Phases, Digest: p.Digest})
}

func actions(p Plan) []string {
	var all []string
	for _, o := range p.Objects {
		all = append(all, fmt.Sprintf("%s %s/%s", o.Action, o.Kind, o.Name))
	}
	return all
}

// planner plans against a cluster in memory.
func planner(cluster *revisionstest.Cluster, p content.Packed) Planner {
	person := cluster.Client("person")
	return Planner{Live: person, Writer: person, Mapper: cluster.Mapper(), Stored: Overlay{Packed: p}}
}

func TestPlanner_Plan(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "app", UID: types.UID("uid-app")}}
	cases := map[string]struct {
		reason    string
		exists    []*unstructured.Unstructured
		standing  []*unstructured.Unstructured
		wanted    []*unstructured.Unstructured
		want      []string
		unchanged int
		summary   string
	}{
		"New": {
			reason: "What does not exist is created.", wanted: []*unstructured.Unstructured{configMap("a", "1")},
			want: []string{"Create ConfigMap/a"}, summary: "1 create, 0 unchanged",
		},
		"Collides": {
			reason: "What another owner has is left alone.", exists: []*unstructured.Unstructured{configMap("a", "1")},
			wanted: []*unstructured.Unstructured{configMap("a", "1"), configMap("b", "1")},
			want:   []string{"Collide ConfigMap/a", "Create ConfigMap/b"}, summary: "1 create, 1 collide, 0 unchanged",
		},
		"Deletes": {
			reason:   "What the revision before has, and this one has not, goes.",
			standing: []*unstructured.Unstructured{configMap("a", "1"), configMap("b", "1")}, wanted: []*unstructured.Unstructured{configMap("b", "2")},
			want: []string{"Create ConfigMap/b", "Delete ConfigMap/a"}, summary: "1 create, 1 delete, 0 unchanged",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := revisionstest.New()
			person := cluster.Client("person")
			for _, object := range tc.exists {
				if err := person.Create(t.Context(), object.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			var line history.History
			p := packed(t, tc.wanted...)
			if tc.standing != nil {
				old := packed(t, tc.standing...)
				target := next(line, pkg, old)
				target.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}}
				line = history.Sort(pkg, []v1alpha1.Revision{*target})
			}
			before := cluster.Objects()
			got, err := planner(cluster, p).Plan(t.Context(), pkg, line, next(line, pkg, p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, actions(got)); diff != "" || got.Summary != tc.summary {
				t.Errorf("%s summary %q, want %q; -want, +got:\n%s", tc.reason, got.Summary, tc.summary, diff)
			}
			if diff := cmp.Diff(before, cluster.Objects()); diff != "" {
				t.Errorf("a plan has changed the cluster:\n%s", diff)
			}
		})
	}
}

// TestPlanner_PlanOfReplacement: what cannot be changed in place is deleted and created
// anew where that is asked for, and the plan says so.
func TestPlanner_PlanOfReplacement(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "app", UID: types.UID("uid-app")}}
	deployment := func(selector string) content.Object {
		return content.Object{OnImmutableChange: v1alpha1.ImmutableReplace, Manifest: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "app"},
			"spec": map[string]any{"selector": selector},
		}}}
	}
	pack := func(o content.Object) content.Packed {
		p, err := content.Pack([]content.Phase{{Name: "all", Objects: []content.Object{o}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	cluster := revisionstest.New()
	old := pack(deployment("a"))
	target := next(history.History{}, pkg, old)
	manager := cluster.Client("strata")
	loaded, err := content.LoadRevision(t.Context(), Overlay{Packed: old}, target)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := revisions.New(revisions.Config{Writer: manager, Live: manager, Cache: Read(t.Context(), manager, loaded), Mapper: cluster.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: Owner(pkg), Target: loaded}); err != nil {
		t.Fatal(err)
	}
	line := history.Sort(pkg, []v1alpha1.Revision{*target})
	for selector, want := range map[string]string{"a": "Update Deployment/web", "b": "Replace Deployment/web"} {
		p := pack(deployment(selector))
		before := cluster.Objects()
		got, err := planner(cluster, p).Plan(t.Context(), pkg, line, next(line, pkg, p))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, actions(got)); diff != "" {
			t.Errorf("selector %s: -want, +got:\n%s", selector, diff)
		}
		if diff := cmp.Diff(before, cluster.Objects()); diff != "" {
			t.Errorf("a plan has changed the cluster:\n%s", diff)
		}
	}
}

func TestOwner_OfNewPackage(t *testing.T) {
	owner := Owner(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
	if owner.UID == "" || owner.Name != "app" || owner.Label != v1alpha1.LabelPackage {
		t.Errorf("got %+v", owner)
	}
}

func TestPlanner_Trial(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "app", UID: types.UID("uid-app")}}
	cluster := revisionstest.New()
	person := cluster.Client("person")
	if err := person.Create(t.Context(), configMap("theirs", "1")); err != nil {
		t.Fatal(err)
	}
	p := packed(t, configMap("new", "1"), configMap("theirs", "1"))
	loaded, err := content.LoadRevision(t.Context(), Overlay{Packed: p}, next(history.History{}, pkg, p))
	if err != nil {
		t.Fatal(err)
	}
	before := cluster.Objects()
	tried, err := planner(cluster, p).Trial(t.Context(), pkg, loaded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, cluster.Objects()); diff != "" {
		t.Errorf("a trial has changed the cluster:\n%s", diff)
	}
	if tried[0].Live != nil || tried[0].Applied == nil || tried[0].Applied.GetLabels()[v1alpha1.LabelPackage] != "app" {
		t.Errorf("what would be made is %v", tried[0].Applied)
	}
	if tried[1].Live == nil || tried[1].Applied != nil || tried[1].Result.Action != revisions.ActionCollision {
		t.Errorf("what another owner has would be %v (%s)", tried[1].Applied, tried[1].Result)
	}
}

// TestPlanner_TrialOfEverything: the record of what was applied keeps no object from being
// tried out. Here another actor has applied old content under our own manager's name, within
// the second of our apply, so that nothing in managedFields tells.
func TestPlanner_TrialOfEverything(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "app", UID: types.UID("uid-app")}}
	cluster := revisionstest.New()
	person := cluster.Client("person")
	p := packed(t, configMap("a", "2"), configMap("b", "2"))
	loaded, err := content.LoadRevision(t.Context(), Overlay{Packed: p}, next(history.History{}, pkg, p))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := revisions.New(revisions.Config{Writer: person, Live: person, Cache: revisionstest.NewCache(cluster, v1alpha1.LabelPackage), Mapper: cluster.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	result, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: Owner(pkg), Target: loaded})
	if err != nil {
		t.Fatal(err)
	}
	stale := configMap("a", "1")
	stale.SetLabels(map[string]string{v1alpha1.LabelPackage: "app"})
	stale.SetOwnerReferences([]metav1.OwnerReference{Owner(pkg).Reference()})
	data, err := stale.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := person.Patch(t.Context(), stale, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	loaded.Records = result.Target.Records
	tried, err := planner(cluster, p).Trial(t.Context(), pkg, loaded)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2"} {
		live, _, _ := unstructured.NestedString(tried[i].Live.Object, "data", "k")
		if tried[i].Applied == nil {
			t.Fatalf("%s was not tried out", tried[i].Result.ID)
		}
		applied, _, _ := unstructured.NestedString(tried[i].Applied.Object, "data", "k")
		if live != want || applied != "2" {
			t.Errorf("%s has %s and would have %s, want %s and 2", tried[i].Result.ID, live, applied, want)
		}
	}
}
