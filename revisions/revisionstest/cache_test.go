// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// newCached is a cluster with a labelled ConfigMap, and a cache that watches it.
func newCached(t *testing.T, metadataOnly bool) (*Cluster, *Cache) {
	t.Helper()
	cluster := New()
	cache := NewCache(cluster, "label")
	if err := cache.Ensure(t.Context(), "user", []revisions.Kind{{GroupVersionKind: configMapKind, MetadataOnly: metadataOnly}}); err != nil {
		t.Fatal(err)
	}
	object := settings()
	object.SetLabels(map[string]string{"label": "demo"})
	if err := cluster.Client("user").Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return cluster, cache
}

func settings() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "app", "name": "settings"}, "data": map[string]any{"color": "v1"},
	}}
}

func edit(t *testing.T, cluster *Cluster, patch string) *unstructured.Unstructured {
	t.Helper()
	object := settings()
	if err := cluster.Client("user").Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	return object
}

// colorOf is the color that the cache knows, "absent" for no object.
func colorOf(t *testing.T, cache *Cache) string {
	t.Helper()
	object, err := cache.Get(configMapKind, types.NamespacedName{Namespace: "app", Name: "settings"})
	if err != nil {
		t.Fatal(err)
	}
	if object == nil {
		return "absent"
	}
	color, _, _ := unstructured.NestedString(object.Object, "data", "color")
	return color
}

// TestCache_SetStale is as stale as asked for, but for our own writes.
func TestCache_SetStale(t *testing.T) {
	cluster, cache := newCached(t, false)
	expect := func(when, want string) {
		t.Helper()
		if got := colorOf(t, cache); got != want {
			t.Errorf("%s: the color is %q, want %q", when, got, want)
		}
	}
	expect("at first", "v1")
	cache.SetStale(true)
	edit(t, cluster, `{"data":{"color":"v2"}}`)
	expect("while it is stale", "v1")
	own := edit(t, cluster, `{"data":{"color":"v3"}}`)
	cache.Observe(own)
	expect("after a write of our own", "v3")
	edit(t, cluster, `{"data":{"color":"v4"}}`)
	cache.SetStale(false)
	expect("when it is not stale any more", "v4")
	cache.Observe(own)
	expect("after an older state", "v4")
	edit(t, cluster, `{"metadata":{"labels":null}}`)
	expect("without the label", "absent")
	edit(t, cluster, `{"metadata":{"labels":{"label":"demo"}}}`)
	expect("with the label again", "v4")
	if err := cluster.Client("user").Delete(t.Context(), settings()); err != nil {
		t.Fatal(err)
	}
	expect("after it was deleted", "absent")
	cache.Observe(own)
	expect("after a write that the deletion has overtaken", "absent")
}

// TestCache_Watches knows what is watched, and no more of it than that.
func TestCache_Watches(t *testing.T) {
	_, cache := newCached(t, true)
	if got := colorOf(t, cache); got != "" {
		t.Errorf("the color is %q although only metadata is watched", got)
	}
	if _, err := cache.Get(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, types.NamespacedName{Name: "x"}); err == nil {
		t.Error("a kind that is not watched is known")
	}
	if err := cache.Ensure(t.Context(), "user", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Get(configMapKind, types.NamespacedName{Name: "x"}); err == nil {
		t.Error("a kind that was given up is known")
	}
}

// TestCache_Changed finds a reader that writes.
func TestCache_Changed(t *testing.T) {
	_, cache := newCached(t, false)
	object, err := cache.Get(configMapKind, types.NamespacedName{Namespace: "app", Name: "settings"})
	if err != nil {
		t.Fatal(err)
	}
	if changed := cache.Changed(); len(changed) > 0 {
		t.Errorf("%v was changed, and by no client", changed)
	}
	object.Object["data"] = map[string]any{"color": "reader"}
	if changed := cache.Changed(); len(changed) != 1 {
		t.Errorf("%v was changed, want the ConfigMap", changed)
	}
}
