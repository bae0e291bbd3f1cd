// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/revisions/probes"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	m := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &m.Object); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestValues(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string
		want          []string
	}{
		"Same":         {reason: "Nothing differs.", before: "{a: 1, b: [x]}", after: "{b: [x], a: 1}"},
		"Number":       {reason: "1 is 1.0.", before: "{a: 1}", after: "{a: 1.0}"},
		"Text":         {reason: `"1" is not 1.`, before: "{a: 1}", after: `{a: "1"}`, want: []string{`.a: 1 -> "1"`}},
		"AddedField":   {reason: "A field that is new has nothing before.", before: "{}", after: "{a: {b: 1}}", want: []string{`.a:  -> {"b":1}`}},
		"RemovedField": {reason: "A field that is gone has nothing after.", before: "{a: 1}", after: "{}", want: []string{`.a: 1 -> `}},
		"EscapedKey":   {reason: "Paths are those of probes.", before: `{"a.b/c": 1}`, after: `{"a.b/c": 2}`, want: []string{`["a.b/c"]: 1 -> 2`}},
		"ByName": {
			reason: "An entry put in front changes one entry.",
			before: "{c: [{name: main, image: a}]}", after: "{c: [{name: side, image: b}, {name: main, image: c}]}",
			want: []string{`.c[name=main].image: "a" -> "c"`, `.c[name=side]:  -> {"image":"b","name":"side"}`},
		},
		"ByPort": {
			reason: "Ports without names are distinguished by number and protocol.",
			before: "{p: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}]}", after: "{p: [{port: 80, protocol: TCP}]}",
			want: []string{`.p[port=80,protocol=UDP]: {"port":80,"protocol":"UDP"} -> `},
		},
		"Order": {
			reason: "Another order of named entries is one change.",
			before: "{c: [{name: a}, {name: b}]}", after: "{c: [{name: b}, {name: a}]}",
			want: []string{`.c: ["name=a","name=b"] -> ["name=b","name=a"]`},
		},
		"NamesTwice": {
			reason: "Names that stand there twice tell nothing apart.",
			before: "{c: [{name: a, v: 1}, {name: a, v: 2}]}", after: "{c: [{name: a, v: 1}, {name: a, v: 3}]}",
			want: []string{`.c[1].v: 2 -> 3`},
		},
		"PutInFront": {
			reason: "Lists of plain values are aligned.",
			before: "{a: [x, q]}", after: "{a: [w, x, q]}", want: []string{`.a[0]:  -> "w"`},
		},
		"TakenOut":  {reason: "What is gone has its old place.", before: "{a: [x, q, z]}", after: "{a: [x, z]}", want: []string{`.a[1]: "q" -> `}},
		"OtherType": {reason: "A list in place of a map is one change.", before: "{a: {b: 1}}", after: "{a: [1]}", want: []string{`.a: {"b":1} -> [1]`}},
		"EmptyList": {reason: "A list that becomes empty loses its entries.", before: "{a: [{name: x}]}", after: "{a: []}", want: []string{`.a[name=x]: {"name":"x"} -> `}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Values(parse(t, tc.before).Object, parse(t, tc.after).Object) {
				got = append(got, fmt.Sprintf("%s: %s -> %s", c.Path, jsonOf(c.Before), jsonOf(c.After)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func jsonOf(value any) string {
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func secret(t *testing.T, name, password string) Object {
	t.Helper()
	return Object{Phase: "config", Manifest: parse(t, fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: %s}, data: {user: bWU=, password: %s}}`, name, password))}
}

func configMap(t *testing.T, phase, name, data string) Object {
	t.Helper()
	return Object{Phase: phase, Manifest: parse(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: %s}`, name, data))}
}

func summaries(r Result) []string {
	var all []string
	for _, d := range r.Differences {
		text := fmt.Sprintf("%s %s", d.Kind, d.Object().Manifest.GetName())
		if d.Kind == Renamed {
			text = fmt.Sprintf("%s %s to %s", d.Kind, d.Before.Manifest.GetName(), d.After.Manifest.GetName())
		}
		for _, c := range d.Changes {
			text += " " + c.Path
		}
		all = append(all, text)
	}
	return all
}

func TestContents(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after []Object
		options       Options
		want          []string
		same          int
	}{
		"Nothing": {reason: "Equal objects are counted only.", before: []Object{configMap(t, "a", "x", "{k: v}")}, after: []Object{configMap(t, "a", "x", "{k: v}")}, same: 1},
		"Changed": {reason: "Fields are named.", before: []Object{configMap(t, "a", "x", "{k: v}")}, after: []Object{configMap(t, "a", "x", "{k: w}")}, want: []string{"Changed x .data.k"}},
		"Moved":   {reason: "A phase is part of a content.", before: []Object{configMap(t, "a", "x", "{k: v}")}, after: []Object{configMap(t, "b", "x", "{k: v}")}, want: []string{"Moved x"}},
		"AddedAndRemoved": {
			reason: "Objects that have little in common are no rename; what is added comes first.",
			before: []Object{configMap(t, "a", "x", "{k: v, l: v}")}, after: []Object{configMap(t, "a", "q", "{m: v, o: v}")},
			want: []string{"Added q", "Removed x"},
		},
		"Renamed": {
			reason: "A name with a hash changes with the content.",
			before: []Object{configMap(t, "a", "x-1", "{k: v, l: v, m: v}")}, after: []Object{configMap(t, "a", "x-2", "{k: v, l: v, m: w}")},
			want: []string{"Renamed x-1 to x-2 .data.m .metadata.name"},
		},
		"KeepNames": {
			reason: "It can be turned off.", options: Options{KeepNames: true},
			before: []Object{configMap(t, "a", "x-1", "{k: v}")}, after: []Object{configMap(t, "a", "x-2", "{k: v}")},
			want: []string{"Added x-2", "Removed x-1"},
		},
		"BestPair": {
			reason: "Of several the one most alike is taken.",
			before: []Object{configMap(t, "a", "x-1", "{k: v, l: v, m: v}"), configMap(t, "a", "y-1", "{k: v, l: v, m: w}")},
			after:  []Object{configMap(t, "a", "y-2", "{k: v, l: v, m: w}")},
			want:   []string{"Renamed y-1 to y-2 .metadata.name", "Removed x-1"},
		},
		"Ignored": {
			reason: "What is ignored does not count.", options: Options{Ignore: []probes.Pattern{pattern(t, ".data.k")}},
			before: []Object{configMap(t, "a", "x", "{k: v}")}, after: []Object{configMap(t, "a", "x", "{k: w}")}, same: 1,
		},
		"IgnoredPlace": {
			reason: "An index is read as it is printed, also when entries have moved.",
			before: []Object{{Phase: "a", Manifest: parse(t, "{kind: A, args: [x, q, z], more: [1]}")}}, after: []Object{{Phase: "a", Manifest: parse(t, "{kind: A, args: [x, z], more: [2]}")}},
			options: Options{Ignore: []probes.Pattern{place(t, ".args[1]")}}, want: []string{"Changed  .more[0]"},
		},
		"Settings": {
			reason: "How an object is treated is part of a content.",
			before: []Object{{Phase: "a", Manifest: parse(t, "{kind: A}"), Settings: map[string]any{}}},
			after:  []Object{{Phase: "a", Manifest: parse(t, "{kind: A}"), Settings: map[string]any{"deletion": "Retain"}}},
			want:   []string{"Changed  (deletion)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Contents(tc.before, tc.after, tc.options)
			if diff := cmp.Diff(tc.want, summaries(got)); diff != "" || got.Same != tc.same {
				t.Errorf("%s same %d, want %d; -want, +got:\n%s", tc.reason, got.Same, tc.same, diff)
			}
		})
	}
}

func pattern(t *testing.T, text string) probes.Pattern {
	t.Helper()
	p, err := probes.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func place(t *testing.T, text string) probes.Pattern {
	t.Helper()
	p, err := probes.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p.Pattern()
}

func TestContents_Secrets(t *testing.T) {
	cases := map[string]struct {
		before, after []Object
		want          []string
	}{
		"Changed": {before: []Object{secret(t, "a", "c2VjcmV0MQ==")}, after: []Object{secret(t, "a", "c2VjcmV0Mg==")}, want: []string{"Changed a .data.password"}},
		"Added":   {after: []Object{secret(t, "a", "c2VjcmV0MQ==")}, want: []string{"Added a"}},
		"Removed": {before: []Object{secret(t, "a", "c2VjcmV0MQ==")}, want: []string{"Removed a"}},
		"Renamed": {before: []Object{secret(t, "a", "c2VjcmV0MQ==")}, after: []Object{secret(t, "b", "c2VjcmV0MQ==")}, want: []string{"Renamed a to b .metadata.name"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Contents(tc.before, tc.after, Options{})
			if diff := cmp.Diff(tc.want, summaries(got)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			for _, d := range got.Differences {
				reported := fmt.Sprint(d.Changes)
				for _, side := range []*Object{d.Before, d.After} {
					if side != nil {
						reported += fmt.Sprint(side.Manifest.Object)
					}
				}
				if strings.Contains(reported, "c2VjcmV0") || strings.Contains(reported, "bWU=") {
					t.Errorf("a value is reported: %s", reported)
				}
			}
			for _, d := range got.Differences {
				var was, is *unstructured.Unstructured
				if d.Before != nil {
					was = d.Before.Manifest
				}
				if d.After != nil {
					is = d.After.Manifest
				}
				unified, err := Unified(was, is, [2]string{"a", "b"}, 3)
				if err != nil || unified == "" || strings.Contains(unified, "c2VjcmV0") {
					t.Errorf("the unified difference (%v): %s", err, unified)
				}
			}
		})
	}
	shown := Contents([]Object{secret(t, "a", "c2VjcmV0MQ==")}, []Object{secret(t, "a", "c2VjcmV0Mg==")}, Options{ShowSecrets: true})
	if got := shown.Differences[0].Changes[0].After; got != "c2VjcmV0Mg==" {
		t.Errorf("asked for, the value is %v", got)
	}
}

func TestRedact(t *testing.T) {
	m := parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}}, stringData: {p: hunter2}, data: hunter2}`)
	before := m.DeepCopy()
	text, err := json.Marshal(Redact(m).Object)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("got %s, %v", text, err)
	}
	if diff := cmp.Diff(before.Object, m.Object); diff != "" {
		t.Errorf("the manifest given was changed:\n%s", diff)
	}
}

func TestUnified(t *testing.T) {
	got, err := Unified(parse(t, "{a: 1, b: 2}"), parse(t, "{a: 1, b: 3}"), [2]string{"x", "y"}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("--- x\n+++ y\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n", got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestManagers(t *testing.T) {
	m := parse(t, `
metadata:
  managedFields:
  - {manager: strata, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}}, "f:metadata": {"f:annotations": {"f:a/b": {}}}, "f:finalizers": {'v:"x"': {}}}}
  - {manager: hpa, operation: Update, subresource: scale, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
`)
	managers := Managers(m)
	want := []string{".finalizers[=x]", `.metadata.annotations["a/b"]`, `.spec.containers[name=main].image`, `.spec.replicas`}
	if diff := cmp.Diff(want, managers[0].Fields); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for path, has := range map[string]bool{".spec.replicas": true, ".spec": true, ".spec.replicasets": false, ".metadata": false} {
		if managers[1].Has(path) != has {
			t.Errorf("%s has %s: %t, want %t", managers[1].Name, path, !has, has)
		}
	}
}
