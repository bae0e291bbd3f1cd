// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocate(t *testing.T) {
	objects, problems := Locate("a.yaml", []byte(strings.Join([]string{
		"# first", "apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "---", "kind: Broken", "---", "a: [", "---", "",
		"apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "status: {}", "---", "# nothing",
	}, "\n")))
	var got []string
	for _, o := range objects {
		got = append(got, fmt.Sprintf("%s:%d %s", o.File, o.Line, o.Object.GetName()))
		if o.Object.Object["status"] != nil {
			t.Errorf("%s still has a status", o.Object.GetName())
		}
	}
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s:%d problem", p.File, p.Line))
	}
	want := []string{"a.yaml:2 a", "a.yaml:11 a", "a.yaml:6 problem", "a.yaml:8 problem"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestLocate_LineOfTheError(t *testing.T) {
	_, problems := Locate("a.yaml", []byte("kind: A\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: one\n  k: two\n"))
	lines := []int{}
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 8}, lines); diff != "" {
		t.Errorf("the problems stand elsewhere; -want, +got:\n%s", diff)
	}
}

func TestLocate_Items(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"YAML": {
			reason: "Each item has its own line, and is searched from there.",
			text:   "# a list\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: b\n",
			want:   []string{"a 5, its kind 6", "b 8, its kind 9"},
		},
		"JSON": {
			reason: "As kubectl get -o json writes it.",
			text:   "{\n \"apiVersion\": \"v1\",\n \"items\": [\n  {\n   \"apiVersion\": \"v1\",\n   \"kind\": \"ConfigMap\",\n   \"metadata\": {\"name\": \"a\"}\n  },\n  {\n   \"apiVersion\": \"v1\",\n   \"kind\": \"ConfigMap\",\n   \"metadata\": {\"name\": \"b\"}\n  }\n ],\n \"kind\": \"List\"\n}\n",
			want:   []string{"a 4, its kind 6", "b 9, its kind 11"},
		},
		"Nested": {
			reason: "Lists in lists are taken apart, and the second document is counted on.",
			text:   "---\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\n",
			want:   []string{"a 9, its kind 10", "b 12, its kind 13"},
		},
		"One": {
			reason: "A single item too.",
			text:   "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n",
			want:   []string{"a 4, its kind 5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, problems := Locate("a.yaml", []byte(tc.text))
			var got []string
			for _, o := range objects {
				got = append(got, fmt.Sprintf("%s %d, its kind %d", o.Object.GetName(), o.Line, o.LineOf("kind")))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("%s %v -want, +got:\n%s", tc.reason, problems, diff)
			}
		})
	}
}
