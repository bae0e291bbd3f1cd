// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/probes"
)

// probe reads a probe as a person writes it.
func probe(t *testing.T, selector v1alpha1.ProbeSelector, assertions string) v1alpha1.Probe {
	t.Helper()
	p := v1alpha1.Probe{Name: "own", Selector: selector}
	if err := yaml.UnmarshalStrict([]byte(assertions), &p.Assertions); err != nil {
		t.Fatalf("reading %s: %v", assertions, err)
	}
	return p
}

var anyWidget = v1alpha1.ProbeSelector{Kind: "Widget", Group: "example.com"}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "generation": int64(2), "annotations": map[string]any{"example.com/note": "good"}},
		"spec": map[string]any{
			"replicas": int64(3), "memory": "1024Mi", "ratio": 0.5, "on": true,
			"containers": []any{map[string]any{"name": "main", "image": "app:1"}},
		},
		"status": map[string]any{
			"observedGeneration": int64(2), "ready": int64(2),
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Stalled", "status": "False"}},
		},
	}}
}

func TestLoadRevision_Assertions(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   probes.Status
	}{
		"Number":           {"a number is compared as one", `[{fieldValue: {path: .spec.replicas, value: 3}}]`, probes.True},
		"WholeFloat":       {"3 is 3.0", `[{fieldValue: {path: .spec.replicas, value: 3.0}}]`, probes.True},
		"NumberText":       {"and not its text", `[{fieldValue: {path: .spec.replicas, value: "3"}}]`, probes.False},
		"Float":            {"a number may have a fraction", `[{fieldValue: {path: .spec.ratio, value: 0.50}}]`, probes.True},
		"Bool":             {"true is a value", `[{fieldValue: {path: .spec.on, value: true}}]`, probes.True},
		"False":            {"and so is false", `[{fieldValue: {path: .spec.on, value: false}}]`, probes.False},
		"Text":             {"a name with dots is quoted", `[{fieldValue: {path: '.metadata.annotations["example.com/note"]', value: good}}]`, probes.True},
		"Entry":            {"an entry of a list is found by its key", `[{fieldValue: {path: '.spec.containers[name=main].image', value: 'app:1'}}]`, probes.True},
		"Quantity":         {"quantities are compared as such", `[{fieldValue: {path: .spec.memory, type: Quantity, value: 1Gi}}]`, probes.True},
		"QuantityNumber":   {"a number is a quantity", `[{fieldValue: {path: .spec.replicas, type: Quantity, value: 3000m}}]`, probes.True},
		"NoQuantity":       {"without the type the spelling counts", `[{fieldValue: {path: .spec.memory, value: 1Gi}}]`, probes.False},
		"AtLeast":          {"more is enough", `[{fieldValue: {path: .status.ready, operator: AtLeast, value: 1}}]`, probes.True},
		"AtMost":           {"more is too much", `[{fieldValue: {path: .status.ready, operator: AtMost, value: 1}}]`, probes.False},
		"ValueMissing":     {"missing is not passing", `[{fieldValue: {path: .status.phase, value: x}}]`, probes.Unknown},
		"Observed":         {"the present generation is observed", `[{observedGeneration: {}}]`, probes.True},
		"Not":              {"what is not so, is not", `[{not: {fieldValue: {path: .spec.replicas, value: 4}}}]`, probes.True},
		"NotHolds":         {"what is so, is", `[{not: {condition: {type: Ready}}}]`, probes.False},
		"NotMissing":       {"missing is not passing under not", `[{not: {fieldValue: {path: .status.phase, value: Failed}}}]`, probes.Unknown},
		"AnyFirst":         {"one alternative is enough", `[{anyOf: [{condition: {type: Ready}}, {condition: {type: Stalled}}]}]`, probes.True},
		"AnyLast":          {"whichever", `[{anyOf: [{condition: {type: Stalled}}, {cel: {expression: self.spec.on == true}}]}]`, probes.True},
		"AnyNot":           {"an alternative may be what is not", `[{anyOf: [{condition: {type: Other}}, {not: {condition: {type: Stalled}}}]}]`, probes.True},
		"AnyNone":          {"none is not enough", `[{anyOf: [{condition: {type: Stalled}}, {not: {condition: {type: Ready}}}]}]`, probes.False},
		"AnyUnknown":       {"what is not known may hold", `[{anyOf: [{condition: {type: Stalled}}, {condition: {type: Other}}]}]`, probes.Unknown},
		"All":              {"assertions must all hold", `[{condition: {type: Ready}}, {anyOf: [{condition: {type: Stalled}}]}]`, probes.False},
		"FieldsEqualFalse": {"two fields may differ", `[{fieldsEqual: {a: .spec.replicas, b: .status.ready}}]`, probes.False},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object, err := loadOne(t, widget(), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{probe(t, anyWidget, tc.text)})
			if err != nil {
				t.Fatal(err)
			}
			if got := object.Probe.Probe(widget()); got.Status != tc.want {
				t.Errorf("%s: %s is %s (%s), want %s", tc.reason, tc.text, got.Status, got.Message, tc.want)
			}
		})
	}
}

func TestLoadRevision_DefaultAssertion(t *testing.T) {
	ready := deployment()
	ready.Object["status"] = map[string]any{"observedGeneration": int64(2), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}
	selector := v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment"}
	byLabel := v1alpha1.ProbeSelector{Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "istiod"}}}
	for name, s := range map[string]v1alpha1.ProbeSelector{"ByKind": selector, "ByLabel": byLabel} {
		t.Run(name, func(t *testing.T) {
			object, err := loadOne(t, deployment(), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{probe(t, s, `[{default: {}}, {fieldValue: {path: .status.replicas, value: 1}}]`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := object.Probe.Probe(ready); got.Status != probes.True {
				t.Errorf("a Deployment that is rolled out is %v, want True", got)
			}
			if got := object.Probe.Probe(deployment()); got.Status == probes.True {
				t.Error("a Deployment without a status passes")
			}
		})
	}
	object, err := loadOne(t, configMap("a", "x"), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{probe(t, v1alpha1.ProbeSelector{Labels: &metav1.LabelSelector{}}, `[{default: {}}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := object.Probe.Probe(configMap("a", "x")); got.Status != probes.Unknown {
		t.Errorf("a kind without a default is %v, want Unknown", got)
	}
}

func TestLoadRevision_AssertionsThatAreRefused(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   string
	}{
		"Path":        {"a path that does not parse, with the position", `[{fieldValue: {path: '.a["\q"]', value: 1}}]`, `spec.probes[0].assertions[0].fieldValue.path (probe own): parsing path ".a[\"\\q\"]": position 4`},
		"Null":        {"null is no value", `[{fieldValue: {path: .a, value: null}}]`, "spec.probes[0].assertions[0].fieldValue.value (probe own): the value is "},
		"Object":      {"an object is no value", `[{fieldValue: {path: .a, value: {b: 1}}}]`, "spec.probes[0].assertions[0].fieldValue.value (probe own): the value is an object"},
		"Quantity":    {"text that is no quantity", `[{fieldValue: {path: .a, type: Quantity, value: much}}]`, "spec.probes[0].assertions[0].fieldValue.value (probe own): it is not a quantity"},
		"BoolAmount":  {"nor is true one", `[{fieldValue: {path: .a, type: Quantity, value: true}}]`, "spec.probes[0].assertions[0].fieldValue.value (probe own): true and false"},
		"TextOrdered": {"text has no order", `[{fieldValue: {path: .a, operator: AtLeast, value: b}}]`, "spec.probes[0].assertions[0].fieldValue (probe own): "},
		"NotCEL":      {"an expression in a not", `[{condition: {type: A}}, {not: {cel: {expression: "true &&\n x"}}}]`, "spec.probes[0].assertions[1].not.cel.expression (probe own): compiling CEL expression: line 2, column 2: "},
		"AnyOf":       {"the alternative is named", `[{anyOf: [{condition: {type: A}}, {not: {fieldsEqual: {a: .a, b: '[0'}}}]}]`, "spec.probes[0].assertions[0].anyOf[1].not.fieldsEqual.b (probe own): "},
		"NoDefault":   {"a kind without a default", `[{default: {}}]`, "spec.probes[0].assertions[0].default (probe own): Widget.example.com has no default"},
		"EmptyNot":    {"a not of nothing", `[{not: {}}]`, "spec.probes[0].assertions[0].not (probe own): set one of "},
		"EmptyAnyOf":  {"an alternative of nothing", `[{anyOf: [{}]}]`, "spec.probes[0].assertions[0].anyOf[0] (probe own): set one of "},
		"None":        {"a probe of nothing", `[]`, "spec.probes[0].assertions (probe own): there is none"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadOne(t, widget(), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{probe(t, anyWidget, tc.text)})
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want an *InvalidError that starts with %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestLoadRevision_Timing(t *testing.T) {
	timed := func(within, holdsFor time.Duration) v1alpha1.Probe {
		p := probe(t, anyWidget, `[{condition: {type: Ready}}]`)
		if within > 0 {
			p.Within = &metav1.Duration{Duration: within}
		}
		if holdsFor > 0 {
			p.HoldsFor = &metav1.Duration{Duration: holdsFor}
		}
		return p
	}
	other := timed(time.Second, time.Hour)
	other.Selector.Kind = "Gadget"
	object, err := loadOne(t, widget(), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{timed(0, 0), timed(time.Minute, time.Second), timed(2*time.Minute, 3*time.Second), other})
	if err != nil {
		t.Fatal(err)
	}
	if object.Within != time.Minute || object.MinReady != 3*time.Second {
		t.Errorf("got within %s and holdsFor %s, want the shortest and the longest of the probes that select the object", object.Within, object.MinReady)
	}
}

// What a person has written has the digest of what the API server returns.
func TestDigest_OfAssertionsAfterTheAPIServer(t *testing.T) {
	p := probe(t, anyWidget, `
- fieldValue: {path: .a, value: 3.0}
- fieldValue: {path: .a, value: "\u0041<", operator: Equal}
- fieldValue: {path: .a, value: 1e3, type: Quantity}
- not: {condition: {type: A}}
- anyOf: [{condition: {type: A}}, {not: {condition: {type: B}}}, {default: {}}, {observedGeneration: {}}]
`)
	p.Within, p.HoldsFor = &metav1.Duration{Duration: 90 * time.Second}, &metav1.Duration{}
	revision := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Package: "p", Revision: 1, Probes: []v1alpha1.Probe{p}}}
	back := stored(t, revision)
	before, err := Digest(nil, nil, revision.Spec.Probes)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Digest(nil, nil, back.Spec.Probes)
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the digest has changed on the way:\n%+v\n%+v", revision.Spec.Probes, back.Spec.Probes)
	}
}

// FuzzPathPattern: the API server must let through every path that can be read, or a
// revision that a front makes would not be taken.
func FuzzPathPattern(f *testing.F) {
	pattern := regexp.MustCompile(v1alpha1.PathPattern)
	for _, text := range []string{
		".a.b", "a", "[0]", `["a b"].c`, `.a['b"c'][3]`, `.a[b=c].d`, `.a[b="x\"y"]`, `.a[b='x']`, `.a[b-c=1.2/3:4]`, "[_a=b]",
		"..a", ".a.", ".a[", ".a[]", ".a[*]", ".a[-1]", ".a b", "", ".", ".a]b", `.a["b]`, ".a[0]b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := probes.ParsePath(text)
		if err == nil && !pattern.MatchString(text) {
			t.Errorf("the path %q can be read, and the API server refuses it", text)
		}
	})
}

func TestPathPattern_Refuses(t *testing.T) {
	pattern := regexp.MustCompile(v1alpha1.PathPattern)
	for _, text := range []string{"", ".", "..a", ".a.", ".a[", ".a[]", ".a[*]", ".a[-1]", ".a b", ".a]b", `.a["b]`, ".a[0]b", ".a.[0]", ".metadata.annotations.example.com/note"} {
		if pattern.MatchString(text) {
			t.Errorf("the pattern takes %q, which is no path", text)
		}
	}
}

// The example of the guide can be used as it stands.
func TestLoadRevision_ProbesOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/probes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("the guide has no example")
	}
	var spec v1alpha1.RevisionSpec
	if err := yaml.UnmarshalStrict([]byte(block), &spec); err != nil {
		t.Fatal(err)
	}
	object, err := loadOne(t, deployment(), v1alpha1.Object{}, v1alpha1.Phase{}, spec.Probes)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Probes) != 2 || object.Within != 3*time.Minute || object.MinReady != 30*time.Second {
		t.Errorf("got %d probes with within %s and holdsFor %s", len(spec.Probes), object.Within, object.MinReady)
	}
}
