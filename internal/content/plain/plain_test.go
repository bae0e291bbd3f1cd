// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
)

func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}}
	maps.Copy(o.Object, fields)
	return o
}

func definition(group, kind, scope string) *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", strings.ToLower(kind)+"s."+group, map[string]any{
		"spec": map[string]any{"group": group, "scope": scope, "names": map[string]any{"kind": kind}},
	})
}

func TestPhases(t *testing.T) {
	objects := []*unstructured.Unstructured{
		object("example.com/v1", "Widget", "w", nil),
		object("apps/v1", "Deployment", "d", nil),
		object("v1", "ConfigMap", "c", nil),
		object("v1", "Service", "s", nil),
		object("v1", "Namespace", "n", nil),
		definition("example.com", "Widget", "Namespaced"),
	}
	phases, err := Phases(objects, v1alpha1.CollisionIfNoController)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	var order []string
	for _, phase := range phases {
		order = append(order, phase.Name)
		if phase.CollisionProtection != v1alpha1.CollisionIfNoController {
			t.Errorf("phase %s has collision protection %q", phase.Name, phase.CollisionProtection)
		}
		for _, o := range phase.Objects {
			got[phase.Name] = append(got[phase.Name], o.Manifest.GetName())
		}
	}
	want := map[string][]string{
		"foundation": {"n", "widgets.example.com"}, "config": {"c"}, "workloads": {"d", "s"}, "rest": {"w"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"foundation", "config", "workloads", "rest"}, order); diff != "" {
		t.Errorf("the order: -want, +got:\n%s", diff)
	}
}

func TestPhases_LeavesOutEmptyOnes(t *testing.T) {
	phases, err := Phases([]*unstructured.Unstructured{object("v1", "ConfigMap", "c", nil)}, "")
	if err != nil || len(phases) != 1 || phases[0].Name != PhaseConfig {
		t.Errorf("got %v, %v; want the phase config alone", phases, err)
	}
}

func TestPhases_EncodesSecrets(t *testing.T) {
	secret := object("v1", "Secret", "s", map[string]any{"stringData": map[string]any{"a": "x"}, "data": map[string]any{"b": "eQ=="}})
	before := secret.DeepCopy()
	phases, err := Phases([]*unstructured.Unstructured{secret}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "eA==", "b": "eQ=="}
	got := phases[0].Objects[0].Manifest.Object
	if diff := cmp.Diff(want, got["data"]); diff != "" || got["stringData"] != nil {
		t.Errorf("data: -want, +got:\n%s\nstringData is %v", diff, got["stringData"])
	}
	if diff := cmp.Diff(before.Object, secret.Object); diff != "" {
		t.Errorf("the manifest given was changed:\n%s", diff)
	}
	secret.Object["stringData"] = map[string]any{"a": map[string]any{"pass": "hunter2"}}
	if _, err := Phases([]*unstructured.Unstructured{secret}, ""); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want an error that quotes no value", err)
	}
}

func TestPlace(t *testing.T) {
	fixed := object("v1", "ConfigMap", "fixed", nil)
	fixed.SetNamespace("own")
	objects := []*unstructured.Unstructured{
		object("v1", "ConfigMap", "c", nil), fixed, object("v1", "Namespace", "n", nil),
		definition("example.com", "Widget", "Namespaced"), definition("example.com", "Gadget", "Cluster"),
		object("example.com/v1", "Widget", "w", nil), object("example.com/v1", "Gadget", "g", nil),
		object("other.com/v1", "Asked", "a", nil), object("other.com/v1", "Unknown", "u", nil),
	}
	ask := func(kind schema.GroupVersionKind) Scope {
		if kind.Kind == "Asked" {
			return ScopeNamespaced
		}
		return ScopeUnknown
	}
	placed, unknown := Place(objects, "app", Scopes(objects, ask))
	var got []string
	for _, o := range placed {
		got = append(got, o.GetNamespace())
	}
	if diff := cmp.Diff([]string{"app", "own", "", "", "", "app", "", "app", ""}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{{Group: "other.com", Version: "v1", Kind: "Unknown"}}, unknown); diff != "" {
		t.Errorf("unknown: -want, +got:\n%s", diff)
	}
	if objects[0].GetNamespace() != "" {
		t.Error("the manifest given was changed")
	}
}

func TestImages(t *testing.T) {
	pods := map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"image": "b:1"}, map[string]any{"image": "a:1"}}, "initContainers": []any{map[string]any{"image": "a:1"}},
	}}}
	got := Images([]*unstructured.Unstructured{
		object("apps/v1", "Deployment", "d", map[string]any{"spec": pods}),
		object("v1", "ConfigMap", "c", map[string]any{"containers": []any{map[string]any{"image": "no"}}}),
	})
	if diff := cmp.Diff([]string{"a:1", "b:1"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
