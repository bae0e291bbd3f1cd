// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configMap is a template of a ConfigMap with these lines of data.
func configMap(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(lines, "\n  ") + "\n"
}

func release() Release {
	return Release{Name: "rel", Namespace: "ns"}
}

// names are the objects as kind and name.
func names(objects []*unstructured.Unstructured) []string {
	all := make([]string, 0, len(objects))
	for _, o := range objects {
		all = append(all, o.GetKind()+" "+o.GetName())
	}
	return all
}

func TestChart_Render(t *testing.T) {
	cases := map[string]struct {
		reason  string
		line    string
		release func(*Release)
		want    string
	}{
		"Values":        {reason: "the chart's values are the default", line: "{{ .Values.who }}", want: "world"},
		"OwnValues":     {reason: "the release's values win", line: "{{ .Values.who }}", release: func(r *Release) { r.Values = map[string]any{"who": "me"} }, want: "me"},
		"Release":       {reason: "name, namespace and service are those of a Helm release", line: "{{ .Release.Name }}/{{ .Release.Namespace }}/{{ .Release.Service }}", want: "rel/ns/Helm"},
		"Install":       {reason: "a release is an install by default", line: "{{ .Release.IsInstall }} {{ .Release.IsUpgrade }}", want: "true false"},
		"Upgrade":       {reason: "a release may be an upgrade", line: "{{ .Release.IsInstall }} {{ .Release.IsUpgrade }}", release: func(r *Release) { r.IsUpgrade = true }, want: "false true"},
		"Version":       {reason: "the chart's versions show", line: "{{ .Chart.Version }}/{{ .Chart.AppVersion }}", want: "0.0.1/0.0.2"},
		"KubeVersion":   {reason: "the Kubernetes version is a constant", line: "{{ .Capabilities.KubeVersion.Version }}", want: DefaultKubeVersion},
		"OtherKube":     {reason: "the Kubernetes version may be given", line: "{{ .Capabilities.KubeVersion.Minor }}", release: func(r *Release) { r.KubeVersion = "v1.36.3" }, want: "36"},
		"APIVersions":   {reason: "stable versions are there, others are not", line: `{{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.APIVersions.Has "apps/v1beta1" }}`, want: "true false"},
		"OtherAPIs":     {reason: "the API versions may be given", line: `{{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.APIVersions.Has "a.b/v1" }}`, release: func(r *Release) { r.APIVersions = []string{"a.b/v1"} }, want: "false true"},
		"NoBuild":       {reason: "what the binary is built with must not show", line: `"{{ .Capabilities.HelmVersion.GoVersion }}{{ .Capabilities.HelmVersion.KubeClientVersion }}"`, want: ""},
		"Lookup":        {reason: "there is no cluster to look into", line: `{{ lookup "v1" "Secret" "ns" "s" | len }}`, want: "0"},
		"Keys":          {reason: "keys are ordered", line: `{{ keys (dict "c" 1 "a" 2 "d" 3 "b" 4) | join "" }}`, want: "abcd"},
		"ValuesOfADict": {reason: "values are ordered by key", line: `{{ values (dict "c" 1 "a" 2 "d" 3 "b" 4) | join "" }}`, want: "2413"},
		"Files":         {reason: "files of the chart can be read", line: `{{ .Files.Get "files/a.txt" }}`, want: "text"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			line := "got: " + tc.line
			if !strings.HasPrefix(tc.line, `"`) {
				line = "got: '" + tc.line + "'"
			}
			c := load(t, map[string]string{"templates/a.yaml": configMap("a", line), "files/a.txt": "text"})
			r := release()
			if tc.release != nil {
				tc.release(&r)
			}
			objects, err := c.Render(r)
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := unstructured.NestedString(objects[0].Object, "data", "got")
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestChart_RenderObjects(t *testing.T) {
	c := load(t, map[string]string{
		"templates/_helpers.tpl": `{{ define "n" }}b{{ end }}`,
		"templates/NOTES.txt":    "this: is\nnot: an object\n",
		"templates/b.yaml":       configMap(`{{ include "n" . }}`, "x: '1'") + "---\n# nothing\n---\n\n---\n" + configMap("a", "x: '1'"),
		"templates/empty.yaml":   "{{ if false }}{{ end }}\n# a comment\n",
		"templates/rbac.yaml":    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: z}\n",
		"templates/test.yaml":    "apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
	})
	objects, err := c.Render(release())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ConfigMap a", "ConfigMap b", "Role z"}
	if diff := cmp.Diff(want, names(objects)); diff != "" {
		t.Errorf("sorted, without notes, partials, empty documents and tests:\n%s", diff)
	}
}

func TestChart_RenderErrors(t *testing.T) {
	cases := map[string]struct {
		reason   string
		template string
		release  Release
		want     []string
	}{
		"NoName":      {reason: "a release has a name", template: configMap("a", "x: y"), release: Release{Namespace: "ns"}, want: []string{"name"}},
		"NoNamespace": {reason: "a release has a namespace", template: configMap("a", "x: y"), release: Release{Name: "rel"}, want: []string{"namespace"}},
		"BadVersion":  {reason: "the Kubernetes version is one", template: configMap("a", "x: y"), release: Release{Name: "r", Namespace: "n", KubeVersion: "new"}, want: []string{`"new"`}},
		"Syntax":      {reason: "a template that cannot be parsed", template: "a: b\nc: {{ if }}\n", want: []string{"templates/a.yaml:2", "if"}},
		"Execution":   {reason: "a template that cannot be executed", template: "a: b\n\nc: {{ index .Values.none 3 }}\n", want: []string{"templates/a.yaml:3", "index"}},
		"Fail":        {reason: "a template that refuses its values", template: "a: b\nc: {{ fail \"bad value\" }}\n", want: []string{"templates/a.yaml:2", "bad value"}},
		"Required":    {reason: "a value that is required", template: "a: {{ required \"say who\" .Values.none }}\n", want: []string{"templates/a.yaml:1", "say who"}},
		"YAML":        {reason: "output that is no YAML, with the line in the output", template: "# one\n---\n" + configMap("a", "x: {", "y: z"), want: []string{"templates/a.yaml", "line 9"}},
		"TwiceAKey":   {reason: "a key that stands twice would lose a value silently", template: configMap("a", "x: y", "x: z"), want: []string{"templates/a.yaml", `"x"`, "line 7"}},
		"NotAnObject": {reason: "output that is no object", template: "---\n- a\n", want: []string{"templates/a.yaml", "line 1", "not an object"}},
		"NoKind":      {reason: "an object without kind", template: "a: b\n", want: []string{"templates/a.yaml", "apiVersion is missing"}},
		"Kustomized":  {reason: "a kustomization is built by kubectl", template: "resources: [a.yaml]\n", want: []string{"templates/a.yaml", "kubectl kustomize"}},
		"KustomKind":  {reason: "one that says what it is, too", template: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", want: []string{"kubectl kustomize"}},
		"Generated":   {reason: "a generated name is another object each time", template: "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n", want: []string{"templates/a.yaml", "metadata.name"}},
		"Namespace":   {reason: "a namespace that is none", template: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: 5}\n", want: []string{"templates/a.yaml", "Pod p", "metadata.namespace"}},
		"Hook":        {reason: "a hook would run at another time than a phase does", template: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: 'test,pre-install'}}\n", want: []string{"templates/a.yaml", "Pod p", "pre-install"}},
		"HookAndNull": {reason: "a null annotation beside it hides no hook", template: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: pre-install, x: }}\n", want: []string{"templates/a.yaml", "Pod p", "pre-install"}},
		"Label":       {reason: "a label that is no string", template: "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {on: true}}\n", want: []string{"templates/a.yaml", "labels", "quote"}},
		"Twice":       {reason: "one object twice would be a fight with oneself", template: configMap("a", "x: y") + "---\n" + configMap("a", "x: z"), want: []string{"templates/a.yaml", "ConfigMap a"}},
		"TooMany":     {reason: "more objects than a revision can hold", template: "{{ range until 3000 }}\n---\n" + configMap("a{{ . }}", "x: y") + "{{ end }}", want: []string{"2048 objects"}},
		"TooLarge":    {reason: "more text than a revision can hold", template: `{{ range until 17 }}# {{ repeat 1048576 "x" }}` + "\n{{ end }}", want: []string{"bytes"}},
		"Aliases":     {reason: "aliases that stand for more than a revision can hold", template: configMap("a", "x: y") + "a: &a ['" + strings.Repeat("x", 1<<20) + "']\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", want: []string{"templates/a.yaml", "bytes"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := tc.release
			if r.Name == "" && r.Namespace == "" {
				r = release()
			}
			c := load(t, map[string]string{"templates/a.yaml": tc.template})
			objects, err := c.Render(r)
			if err == nil {
				t.Fatalf("%s: got %v, want an error", tc.reason, names(objects))
			}
			for _, want := range append(tc.want, "rendering chart sample: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q does not contain %q", tc.reason, err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q has more than one line", err)
			}
		})
	}
}

func TestChart_RenderRefusesFunctions(t *testing.T) {
	calls := map[string]string{
		"now": "now | toString", "randAlphaNum": "randAlphaNum 5", "uuidv4": "uuidv4",
		"genCA": `(genCA "a" 1).Cert`, "htpasswd": `htpasswd "a" "b"`, "date": `date "2006" 0`,
	}
	for _, name := range refusedFunctions {
		call := calls[name]
		if call == "" {
			call = name
		}
		for _, form := range []string{"{{ " + call + " }}", "{{ tpl `{{ " + strings.ReplaceAll(call, "`", "") + " }}` . }}"} {
			c := load(t, map[string]string{"templates/a.yaml": configMap("a", "x: '"+form+"'")})
			_, err := c.Render(release())
			if err == nil || !strings.Contains(err.Error(), "function "+name+" is refused") {
				t.Errorf("%s: got error %v, want that the function is refused", form, err)
			}
		}
	}
}

func TestChart_RenderLeavesValuesAlone(t *testing.T) {
	c := load(t, map[string]string{
		"values.yaml":      "nested: {a: 1}\n",
		"templates/a.yaml": `{{ $_ := set .Values.nested "a" 5 }}{{ $_ := set .Values.own "b" 6 }}{{ $_ := unset .Values "gone" }}` + configMap("a", "x: '{{ .Values.nested.a }}{{ .Values.own.b }}'"),
	})
	values := map[string]any{"own": map[string]any{"b": int64(1)}, "gone": "no"}
	r := release()
	r.Values = values
	for range 2 {
		objects, err := c.Render(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(objects[0].Object, "data", "x"); got != "56" {
			t.Errorf("got %q, want 56", got)
		}
	}
	if diff := cmp.Diff(map[string]any{"own": map[string]any{"b": int64(1)}, "gone": "no"}, values); diff != "" {
		t.Errorf("the caller's values changed:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"nested": map[string]any{"a": float64(1)}}, maps.Clone(c.parsed.Values)); diff != "" {
		t.Errorf("the chart's values changed:\n%s", diff)
	}
}

func TestChart_RenderConcurrently(t *testing.T) {
	c := load(t, map[string]string{"templates/a.yaml": configMap("a", `x: '{{ set .Values "who" .Release.Name | len }}{{ .Values.who }}'`)})
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			r := release()
			r.Name = fmt.Sprintf("rel%d", i)
			objects, err := c.Render(r)
			if err == nil {
				if got, _, _ := unstructured.NestedString(objects[0].Object, "data", "x"); !strings.HasSuffix(got, r.Name) {
					err = fmt.Errorf("got %q, want it to end with %s", got, r.Name)
				}
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}
