// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is put on record of a manifest with a salt tells nothing to who does not
// know the salt.
func TestRevision_PreparedWithSalt(t *testing.T) {
	record := func(value, salt string) string {
		manifest := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "namespace": "app"}, "stringData": map[string]any{"password": value},
		}}
		r := Revision{Phases: []Phase{{Name: "only", Objects: []Object{{Manifest: manifest, Salt: salt}}}}}.Prepared()
		return r.Phases[0].Objects[0].prepared.content(Owner{Label: "l", Name: "web"}, true, nil)
	}
	if first, again := record("a", "1"), record("a", "1"); first != again {
		t.Error("equal content has another record")
	}
	seen := map[string]string{}
	for _, given := range [][2]string{{"a", ""}, {"a", "1"}, {"a", "2"}, {"b", "1"}} {
		name := given[0] + "/" + given[1]
		if other, taken := seen[record(given[0], given[1])]; taken {
			t.Errorf("%s has the record of %s", name, other)
		}
		seen[record(given[0], given[1])] = name
	}
}
