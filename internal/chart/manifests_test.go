// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestManifests(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
		want   []map[string]any
	}{
		"Nothing": {reason: "an empty file has no objects", data: "\n# only this\n---\n"},
		"Numbers": {
			reason: "whole numbers are int64, others float64, and what looks like one in quotes is a string",
			data:   "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {i: 3, f: 1.5, s: '3', big: 9007199254740993}\n",
			want: []map[string]any{{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"i": int64(3), "f": 1.5, "s": "3", "big": int64(9007199254740993)}}},
		},
		"Nulls": {
			reason: "null values go, also in a template, and what is left of their parents stays",
			data:   "apiVersion: v1\nkind: A\nmetadata: {name: a, labels: , annotations: {x: ~}}\nspec: {template: {metadata: {creationTimestamp: null, labels: {a: b}}, list: [{x: null, b: c}, null]}}\n",
			want: []map[string]any{{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a", "annotations": map[string]any{}},
				"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "list": []any{map[string]any{"b": "c"}, nil}}}}},
		},
		"Schema": {
			reason: "a null default in a CRD's schema has a meaning",
			data:   "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {openAPIV3Schema: {default: null}}\n",
			want: []map[string]any{{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"openAPIV3Schema": map[string]any{"default": nil}}}},
		},
		"ServerFields": {
			reason: "status and what only an API server sets go",
			data:   "apiVersion: v1\nkind: A\nmetadata: {name: a, uid: u, resourceVersion: '1', generation: 2, creationTimestamp: '2020-01-01T00:00:00Z', managedFields: []}\nstatus: {x: y}\nspec: {status: kept}\n",
			want: []map[string]any{{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"status": "kept"}}},
		},
		"Markers": {
			reason: "a marker may have a comment or content on its line, or end a document; an indented one is text",
			data:   "--- # first\napiVersion: v1\nkind: A\nmetadata: {name: a}\ndata: |\n  x\n  ---\n  y\n--- {apiVersion: v1, kind: A, metadata: {name: b}}\n...\napiVersion: v1\nkind: A\nmetadata: {name: c}\n---\r\n---x: z\napiVersion: v1\nkind: A\nmetadata: {name: d}\n",
			want: []map[string]any{
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"}, "data": "x\n---\ny\n"},
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "b"}},
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "c"}},
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "d"}, "---x": "z"},
			},
		},
		"List": {
			reason: "the items of a List are objects of their own",
			data:   "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: b}}\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n",
			want: []map[string]any{
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"}},
				{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "b"}},
			},
		},
		"Order": {
			reason: "group, version, kind, namespace and name decide, in that order",
			data: strings.Join([]string{
				"{apiVersion: b/v1, kind: A, metadata: {name: a}}",
				"{apiVersion: a/v2, kind: A, metadata: {name: a2}}",
				"{apiVersion: a/v1, kind: B, metadata: {name: a}}",
				"{apiVersion: a/v1, kind: A, metadata: {name: a, namespace: b}}",
				"{apiVersion: a/v1, kind: A, metadata: {name: b, namespace: a}}",
				"{apiVersion: v1, kind: Z, metadata: {name: a}}",
			}, "\n---\n"),
			want: []map[string]any{
				{"apiVersion": "v1", "kind": "Z", "metadata": map[string]any{"name": "a"}},
				{"apiVersion": "a/v1", "kind": "A", "metadata": map[string]any{"name": "b", "namespace": "a"}},
				{"apiVersion": "a/v1", "kind": "A", "metadata": map[string]any{"name": "a", "namespace": "b"}},
				{"apiVersion": "a/v1", "kind": "B", "metadata": map[string]any{"name": "a"}},
				{"apiVersion": "a/v2", "kind": "A", "metadata": map[string]any{"name": "a2"}},
				{"apiVersion": "b/v1", "kind": "A", "metadata": map[string]any{"name": "a"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := Manifests("file.yaml", []byte(tc.data))
			if err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			for _, o := range objects {
				got = append(got, o.Object)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestManifests_Errors(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   string
		want   string
	}{
		"Invalid":  {reason: "the line is that of the file", data: "# a\n---\n---\nx: [\nz: z\n", want: "file.yaml: invalid YAML: yaml: line 5"},
		"TooLarge": {reason: "a file that no revision could hold", data: strings.Repeat("#", MaxOutputBytes+1), want: "file.yaml has more than"},
		"Versions": {reason: "two versions of one object are one object", data: "{apiVersion: a/v1, kind: A, metadata: {name: a}}\n---\n{apiVersion: a/v2, kind: A, metadata: {name: a}}\n", want: "A a is also in file.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Manifests("file.yaml", []byte(tc.data))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want %q in it", tc.reason, err, tc.want)
			}
		})
	}
}

// FuzzManifests checks that what was parsed once is parsed to the same again.
func FuzzManifests(f *testing.F) {
	f.Add("apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {a: b}}\nspec: {x: [1, 2.5, null, {y: null}]}\n---\n")
	f.Add("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: A, metadata: {name: a, annotations: {helm.sh/hook: test}}}]")
	f.Add("--- |\n  ---\n...\n- a")
	f.Fuzz(func(t *testing.T, data string) {
		first, err := Manifests("file.yaml", []byte(data))
		if err != nil {
			return
		}
		var text []byte
		for _, o := range first {
			doc, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, "---\n"...), doc...)
		}
		second, err := Manifests("file.yaml", text)
		if err != nil {
			t.Fatalf("parsing again: %v\n%s", err, text)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("parsed again, the objects differ:\n%s", diff)
		}
	})
}

func TestInstalled(t *testing.T) {
	const twice = "# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {app: first}\n  labels: {app: last}\n"
	objects, err := Installed("release", []byte("---\n"+twice))
	if err != nil {
		t.Fatalf("Helm has installed it, so it is no error: %v", err)
	}
	if got := objects[0].GetLabels()["app"]; len(objects) != 1 || got != "last" {
		t.Errorf("got %d objects and the label %q, want one with the last value, as Helm reads it", len(objects), got)
	}
	if _, err := Manifests("file", []byte(twice)); err == nil {
		t.Error("in a file that a user writes a key that stands twice stays an error")
	}
	if _, err := Installed("release", []byte("a: [\n")); err == nil || !strings.Contains(err.Error(), "release: invalid YAML") {
		t.Errorf("got error %v, want one that names the release", err)
	}
}
