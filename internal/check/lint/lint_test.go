// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
)

const (
	namespace  = "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n"
	config     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: app}\ndata: {k: v}\n"
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: app}\nspec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: main, image: i}]}}}\n"
	widget     = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: app}\n"
	definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}]}\n"
)

func inputOf(texts ...string) Input {
	in := Input{Package: "app", Namespace: "app"}
	in.Objects, in.Problems = chart.Locate("a.yaml", []byte(strings.Join(texts, "---\n")))
	return in
}

func probesOf(t *testing.T, text string) []v1alpha1.Probe {
	t.Helper()
	var probes []v1alpha1.Probe
	if err := yaml.UnmarshalStrict([]byte(text), &probes); err != nil {
		t.Fatal(err)
	}
	return probes
}

// revisionOf is the content of an input as the engine has it.
func revisionOf(t *testing.T, in Input) *revisions.Revision {
	t.Helper()
	c := &checking{in: in, places: map[revisions.ObjectID]chart.Located{}}
	phases, err := plain.Phases(c.distinct(), "")
	if err != nil {
		t.Fatal(err)
	}
	loaded, ok := c.load(t.Context(), phases)
	if !ok {
		t.Fatalf("%+v", c.findings)
	}
	return &loaded
}

// serves is a cluster that serves just these kinds.
func serves(kinds ...string) func(schema.GroupVersionKind) plain.Scope {
	return func(gvk schema.GroupVersionKind) plain.Scope {
		if slices.Contains(kinds, gvk.Kind) {
			return plain.ScopeNamespaced
		}
		return plain.ScopeUnknown
	}
}

// manyConfigs is a namespace with six ConfigMaps.
func manyConfigs() []string {
	many := []string{namespace}
	for i := range 6 {
		many = append(many, strings.Replace(config, "name: c", fmt.Sprintf("name: c%d", i), 1))
	}
	return many
}

// checkCase is a case of [TestCheck].
type checkCase struct {
	reason string
	in     Input
	change func(t *testing.T, in *Input)
	want   []string
}

// checkCases are the cases of [TestCheck].
var checkCases = map[string]checkCase{
	"Clean":     {reason: "Nothing is found in good content.", in: inputOf(namespace, config, deployment)},
	"Parse":     {reason: "A broken document leaves the others in.", in: inputOf(namespace, "kind: [\n", "kind: ConfigMap\n"), want: []string{"PKG0001 a.yaml:5", "PKG0001 a.yaml:7"}},
	"Duplicate": {reason: "The second place is named.", in: inputOf(namespace, config, config), want: []string{"PKG0101 a.yaml:10"}},
	"NamelessDuplicate": {
		reason: "Without a namespace it is that of --namespace.",
		in:     inputOf(namespace, config, strings.Replace(config, ", namespace: app", "", 1)), want: []string{"PKG0101 a.yaml:10"},
	},
	"NoNamespace":  {reason: "It depends on where it is applied.", in: inputOf(namespace, strings.Replace(config, ", namespace: app", "", 1)), want: []string{"PKG0102 a.yaml:5"}},
	"HasNamespace": {reason: "The engine would refuse it.", in: inputOf(strings.Replace(namespace, "name: app", "name: app, namespace: x", 1)), want: []string{"PKG0103 a.yaml:1"}},
	"UnknownKind": {
		reason: "What the cluster does not serve holds the rollout.", in: inputOf(namespace, widget),
		change: func(_ *testing.T, in *Input) { in.Scope = serves() }, want: []string{"PKG0104 a.yaml:5", "PKG0304 a.yaml:5"},
	},
	"ServedKind": {
		reason: "A custom kind has no default probe.", in: inputOf(namespace, widget),
		change: func(_ *testing.T, in *Input) { in.Scope = serves("Widget") }, want: []string{"PKG0304 a.yaml:5"},
	},
	"BroughtKind": {
		reason: "The content may bring the kind.", in: inputOf(namespace, definition, widget),
		change: func(_ *testing.T, in *Input) { in.Scope = serves() }, want: []string{"PKG0304 a.yaml:10"},
	},
	"Invalid":    {reason: "What the engine would refuse is found.", in: inputOf(namespace, strings.Replace(config, "name: c", "name: c, finalizers: [a/b]", 1)), want: []string{"PKG0105 a.yaml:5"}},
	"ObjectName": {reason: "No API server takes the name.", in: inputOf(namespace, strings.Replace(widget, "name: w", "name: My_Widget", 1)), want: []string{"PKG0304 a.yaml:5", "PKG0105 a.yaml:7"}},
	"RoleName":   {reason: "Names of roles may have colons.", in: inputOf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:A_b'}\n")},
	"PackageName": {
		reason: "A package's name is an object's.", in: inputOf(namespace, config),
		change: func(_ *testing.T, in *Input) { in.Package = "P_X" }, want: []string{"PKG0105 :0"},
	},
	"Annotations": {
		reason: "Each annotation that cannot be read is found where it stands.",
		in: inputOf(namespace, annotated("strata.run/fase: config"), annotated("strata.run/deletion: delete"), annotated("strata.run/probe: '{}'"),
			annotated("strata.run/phase: config")),
		want: []string{"PKG0102 a.yaml:5", "PKG0105 a.yaml:10", "PKG0102 a.yaml:12", "PKG0105 a.yaml:17", "PKG0102 a.yaml:19", "PKG0301 a.yaml:24", "PKG0102 a.yaml:26"},
	},
	"ForeignSpace": {reason: "Each namespace is reported once.", in: inputOf(config, deployment), want: []string{"PKG0106 a.yaml:1"}},
	"Immutable": {
		reason: "The API server would refuse the change.", in: inputOf(namespace, strings.ReplaceAll(deployment, "app: d", "app: e")),
		change: func(t *testing.T, in *Input) { in.Against = revisionOf(t, inputOf(namespace, deployment)) }, want: []string{"PKG0201 a.yaml:5"},
	},
	"Definition": {
		reason: "A field that is gone may break resources.", in: inputOf(namespace, strings.Replace(definition, "size: {type: integer}", "", 1)),
		change: func(t *testing.T, in *Input) { in.Against = revisionOf(t, inputOf(namespace, definition)) }, want: []string{"PKG0202 a.yaml:5"},
	},
	"Shrunk": {
		reason: "Most objects are gone.", in: inputOf(namespace),
		change: func(t *testing.T, in *Input) { in.Against = revisionOf(t, inputOf(manyConfigs()...)) }, want: []string{"PKG0203 :0"},
	},
	"SameAgain": {
		reason: "Nothing changes.", in: inputOf(namespace, deployment),
		change: func(t *testing.T, in *Input) { in.Against = revisionOf(t, inputOf(namespace, deployment)) },
	},
	"Probe": {
		reason: "The place of the error is reported.", in: inputOf(namespace, config),
		change: func(t *testing.T, in *Input) {
			in.Probes = probesOf(t, `[{name: p, selector: {kind: ConfigMap}, assertions: [{cel: {expression: "self.("}}]}]`)
		},
		want: []string{"PKG0301 :0"},
	},
	"ProbeIdle": {
		reason: "A probe that judges nothing is a mistake.", in: inputOf(namespace, config),
		change: func(t *testing.T, in *Input) {
			in.Probes = probesOf(t, `[{name: p, selector: {kind: Pod}, assertions: [{condition: {type: Ready}}]}]`)
		},
		want: []string{"PKG0302 :0"},
	},
	"TooLarge": {
		reason: "It could not be stored.", in: inputOf(namespace, strings.Replace(config, "k: v", "k: "+incompressible(3<<20), 1)), want: []string{"PKG0401 :0"},
	},
}

func TestCheck(t *testing.T) {
	for name, tc := range checkCases {
		t.Run(name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(t, &tc.in)
			}
			findings, err := Check(t.Context(), tc.in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, fmt.Sprintf("%s %s:%d", f.Rule.Code, f.File, f.Line))
				if f.Message == "" || f.Remedy == "" || f.Rule.Severity == "" {
					t.Errorf("%+v lacks a message, a remedy or a severity", f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s\n%+v", tc.reason, diff, findings)
			}
		})
	}
}

// annotated is a ConfigMap with an annotation in its sixth line.
func annotated(annotation string) string {
	name := strings.ToLower(strings.NewReplacer("/", "-", ":", "-", " ", "", "'", "", "{", "", "}", "x").Replace(annotation))
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations:\n    " + annotation + "\n"
}

// incompressible is a text that hardly gets smaller.
func incompressible(n int) string {
	var b strings.Builder
	state := uint32(1)
	for b.Len() < n {
		state = state*1664525 + 1013904223
		fmt.Fprintf(&b, "%08x", state^state>>15)
	}
	return b.String()
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if seen[rule.Code] || seen[rule.Name] || rank[rule.Severity] == 0 || rule.Summary == "" {
			t.Errorf("rule %+v is incomplete, or its code or name is taken", rule)
		}
		seen[rule.Code], seen[rule.Name] = true, true
		if RuleOf(rule.Code) != rule {
			t.Errorf("RuleOf(%s) is another rule", rule.Code)
		}
	}
	if !Error.AtLeast(Warning) || Note.AtLeast(Warning) || !Warning.AtLeast(Warning) {
		t.Error("the severities are out of order")
	}
}
