// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestPattern_Without(t *testing.T) {
	cases := map[string]struct {
		reason        string
		pattern       string
		content, want string
	}{
		"Field":      {"a field goes, its neighbours stay", ".spec.replicas", `{spec: {replicas: 1, paused: true}}`, `{spec: {paused: true}}`},
		"LastField":  {"an empty map is not the same as none", ".spec.replicas", `{spec: {replicas: 1}}`, `{spec: {}}`},
		"Absent":     {"what is not there needs no removing", ".spec.replicas", `{data: {a: b}}`, `{data: {a: b}}`},
		"NoMap":      {"a value of another shape is left alone", ".spec.replicas.x", `{spec: {replicas: 1}}`, `{spec: {replicas: 1}}`},
		"Quoted":     {"names with dots are quoted", `.metadata.annotations['a.b/c']`, `{metadata: {annotations: {a.b/c: x, d: y}}}`, `{metadata: {annotations: {d: y}}}`},
		"EveryEntry": {"* stands for every entry", ".webhooks[*].clientConfig.caBundle", `{webhooks: [{name: a, clientConfig: {caBundle: x, url: u}}, {name: b}, text]}`, `{webhooks: [{name: a, clientConfig: {url: u}}, {name: b}, text]}`},
		"OneEntry":   {"an entry is identified by a field of it", ".c[name=b].image", `{c: [{name: a, image: x}, {name: b, image: y}]}`, `{c: [{name: a, image: x}, {name: b}]}`},
		"WholeEntry": {"an entry can go as a whole", ".c[name=b]", `{c: [{name: a}, {name: b}]}`, `{c: [{name: a}]}`},
		"AllEntries": {"and so can all of them", ".c[*]", `{c: [{name: a}, 1]}`, `{c: []}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pattern, err := ParsePattern(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			content, before, want := map[string]any{}, map[string]any{}, map[string]any{}
			for text, into := range map[string][]*map[string]any{tc.content: {&content, &before}, tc.want: {&want}} {
				for _, target := range into {
					if err := yaml.Unmarshal([]byte(text), target); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tc.content == tc.want {
				want = before
			}
			if diff := cmp.Diff(want, pattern.Without(content)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, content); diff != "" {
				t.Errorf("the content was changed (-before +after):\n%s", diff)
			}
		})
	}
	if got := (Pattern{}).Without(map[string]any{"a": "b"}); len(got) != 1 {
		t.Errorf("the zero pattern leaves %v", got)
	}
}

func TestPattern_Covers(t *testing.T) {
	cases := map[string]struct {
		reason        string
		pattern, path string
		want          bool
	}{
		"Same":      {"the field itself", ".spec.replicas", ".spec.replicas", true},
		"Inside":    {"a field inside of it", ".spec", ".spec.replicas", true},
		"Outside":   {"the field around it holds more", ".spec.replicas", ".spec", false},
		"Every":     {"* covers an entry", ".webhooks[*].a", ".webhooks[name=x].a", true},
		"EveryIs":   {"* covers no field of a map", ".webhooks[*].a", ".webhooks.x.a", false},
		"Entry":     {"the same entry", ".c[name=a]", ".c[name=a].b", true},
		"Other":     {"another entry", ".c[name=a]", ".c[name=b].b", false},
		"OtherName": {"another field", ".spec.replica", ".spec.replicas", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pattern, err := ParsePattern(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			path, err := ParsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := pattern.Covers(path); got != tc.want {
				t.Errorf("Covers(%s) of %s = %t: %s", tc.path, tc.pattern, got, tc.reason)
			}
		})
	}
}

// TestParsePattern_Refused has what is a path and no pattern, and the other way round.
func TestParsePattern_Refused(t *testing.T) {
	for _, text := range []string{"", ".c[0].image", ".c[**]", ".c[*", ".c[*=a]", ".c[name]", "..a"} {
		var wrong *PathError
		if _, err := ParsePattern(text); !errors.As(err, &wrong) {
			t.Errorf("ParsePattern(%q) = %v, want a *PathError", text, err)
		}
	}
	if _, err := ParsePath(".c[*].image"); err == nil {
		t.Error("a path names one value at most, and takes no *")
	}
	pattern, err := ParsePattern(`spec["a b"][*][name='x y']`)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParsePattern(pattern.String())
	if err != nil || again.String() != pattern.String() {
		t.Errorf("%s is read back as %s, %v", pattern, again, err)
	}
}
