// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
)

func secretRef(name string) v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{Version: "v1", Kind: "Secret", Namespace: "app", Name: name}
}

// TestItemsOf_Secrets: objects that stand in Secrets are named from what may be read, and
// else from what the status says.
func TestItemsOf_Secrets(t *testing.T) {
	inSecret := func(index int32) v1alpha1.Object {
		return v1alpha1.Object{Secret: &v1alpha1.SecretReference{Name: "sha256-x", Index: index}}
	}
	revision := func(status v1alpha1.RevisionStatus) *v1alpha1.Revision {
		return &v1alpha1.Revision{Status: status, Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{
			{Name: "one", Objects: []v1alpha1.Object{inSecret(0), {Object: raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`)}, inSecret(1)}},
			{Name: "two", Objects: []v1alpha1.Object{inSecret(2)}},
		}}}
	}
	entry := func(name string) v1alpha1.InventoryEntry {
		return v1alpha1.InventoryEntry{ObjectReference: secretRef(name)}
	}
	named := func(name string) view.Stored {
		m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		m.SetNamespace("app")
		m.SetName(name)
		return view.Stored{Manifest: m, Digest: "of " + name}
	}
	read := view.Manifests{{Name: "sha256-x", Secret: true}: {named("a"), named("b"), named("c")}}
	cases := map[string]struct {
		reason string
		held   view.Manifests
		status v1alpha1.RevisionStatus
		want   [][]string
	}{
		"Read":      {reason: "Who may read it gets names and digests.", held: read, want: [][]string{{"a", "c", "b"}, {"c"}}},
		"Unknown":   {reason: "Nothing is made up.", want: [][]string{{"", "c", ""}, {""}}},
		"Inventory": {reason: "What is in place is named.", status: v1alpha1.RevisionStatus{Inventory: []v1alpha1.InventoryEntry{entry("a"), entry("b"), entry("c")}}, want: [][]string{{"a", "c", "b"}, {"c"}}},
		"Held": {
			reason: "So is what holds its phase.",
			status: v1alpha1.RevisionStatus{Objects: []v1alpha1.ObjectStatus{{ObjectReference: secretRef("b"), Phase: "one"}}, Inventory: []v1alpha1.InventoryEntry{entry("a")}},
			want:   [][]string{{"b", "c", "a"}, {""}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for _, items := range view.ItemsOf(revision(tc.status), tc.held) {
				var names []string
				for _, it := range items {
					names = append(names, it.Ref.Name)
					if it.Secret != "" && it.Ref.Name != "" && it.Ref.Kind != "Secret" {
						t.Errorf("%s is a %s", it.Ref.Name, it.Ref.Kind)
					}
				}
				got = append(got, names)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestChangesBetween_Secrets: what differs is known where the Secrets can be read.
func TestChangesBetween_Secrets(t *testing.T) {
	revision := func(secret string) *v1alpha1.Revision {
		r := &v1alpha1.Revision{}
		r.Spec.Phases = []v1alpha1.Phase{{Name: "x", Objects: []v1alpha1.Object{
			{Secret: &v1alpha1.SecretReference{Name: secret}}, {Secret: &v1alpha1.SecretReference{Name: secret, Index: 1}},
		}}}
		return r
	}
	one := func(name, digest string) view.Stored {
		m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		m.SetName(name)
		return view.Stored{Manifest: m, Digest: digest}
	}
	read := view.Manifests{
		content.Reference{Name: "old", Secret: true}: {one("same", "1"), one("other", "2")},
		content.Reference{Name: "new", Secret: true}: {one("same", "1"), one("other", "3")},
	}
	changes, same := view.ChangesBetween(revision("old"), revision("new"), read)
	if len(changes) != 1 || changes[0].Name != "other" || changes[0].Action != view.ChangeUpdate || same != 1 {
		t.Errorf("got %v, and %d the same", changes, same)
	}
	if warnings := view.WarningsOf(revision("old"), revision("new"), changes, read); len(warnings) != 0 {
		t.Errorf("warns of what was read: %q", warnings)
	}
	if changes, same := view.ChangesBetween(revision("old"), revision("new"), view.Manifests{}); len(changes) != 0 || same != 0 {
		t.Errorf("of what could not be read it says %v, and %d the same", changes, same)
	}
}
