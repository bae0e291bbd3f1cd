// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// TestOwner_FieldOwner: every write is that of the field owner, whose entry alone tells drift.
func TestOwner_FieldOwner(t *testing.T) {
	cluster := revisionstest.New()
	api, objects := cluster.Client("controller"), revisionstest.NewCache(cluster, "example.com/shop")
	objects.FieldOwner = "shop-operator"
	engine, err := revisions.New(revisions.Config{Writer: api, Live: api, Mapper: cluster.Mapper(), Cache: objects})
	if err != nil {
		t.Fatal(err)
	}
	manifest := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "app", "name": "settings"}, "data": map[string]any{"a": "1"},
	}}
	in := revisions.Rollout{
		Owner:  revisions.Owner{APIVersion: "v1", Kind: "Shop", Name: "shop", UID: "1", Label: "example.com/shop", FieldOwner: "shop-operator"},
		Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{{Name: "settings", Objects: []revisions.Object{{Manifest: manifest}}}}},
	}
	for _, want := range []revisions.Action{revisions.ActionCreated, revisions.ActionUnchanged} {
		result, err := engine.Reconcile(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		object := result.Target.Phases[0].Objects[0]
		if object.Action != want || object.Record.Fields == "" {
			t.Errorf("%s, with the digest %q, want %s and a digest", object, object.Record.Fields, want)
		}
		in.Target.Records = result.Target.Records
	}
	if entries := cluster.Objects()[0].GetManagedFields(); len(entries) != 1 || entries[0].Manager != "shop-operator" {
		t.Errorf("the fields are those of %v", entries)
	}
}
