// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answers are the three statuses, in the order of the truth tables below.
var answers = []Status{True, False, Unknown}

// probesOf returns one probe for each letter of T, F and U.
func probesOf(letters string) []Probe {
	var list []Probe
	for _, letter := range letters {
		for _, status := range answers {
			if strings.HasPrefix(string(status), string(letter)) {
				list = append(list, fixed(status, ""))
			}
		}
	}
	return list
}

func TestAll_TruthTable(t *testing.T) {
	table := map[string]Status{
		"": True, "T": True, "F": False, "U": Unknown,
		"TT": True, "TF": False, "TU": Unknown, "FT": False, "FF": False, "FU": False, "UT": Unknown, "UF": False, "UU": Unknown,
		"TUF": False, "FUT": False, "UTU": Unknown,
	}
	for letters, want := range table {
		if got := All(probesOf(letters)).Probe(nil); got.Status != want {
			t.Errorf("All of %q = %s, want %s", letters, got.Status, want)
		}
	}
}

func TestAny_TruthTable(t *testing.T) {
	table := map[string]Status{
		"": False, "T": True, "F": False, "U": Unknown,
		"TT": True, "TF": True, "TU": True, "FT": True, "FF": False, "FU": Unknown, "UT": True, "UF": Unknown, "UU": Unknown,
		"UFT": True, "FUF": Unknown,
	}
	for letters, want := range table {
		if got := Any(probesOf(letters)).Probe(nil); got.Status != want {
			t.Errorf("Any of %q = %s, want %s", letters, got.Status, want)
		}
	}
}

func TestNot_TruthTable(t *testing.T) {
	table := map[Status]Status{True: False, False: True, Unknown: Unknown, "": Unknown, "true": Unknown}
	for inner, want := range table {
		if got := (Not{Inner: fixed(inner, "")}).Probe(nil); got.Status != want {
			t.Errorf("Not of %q = %s, want %s", inner, got.Status, want)
		}
	}
}

func TestCombinators_Messages(t *testing.T) {
	good, reported := fixed(True, ""), fixed(True, "waits")
	bad, worse, unsure := fixed(False, "a is 1"), fixed(False, "b is 2"), fixed(Unknown, "c is not observed")
	cases := map[string]struct {
		reason string
		probe  Probe
		want   Result
	}{
		"AllFailing":  {"All that are not True are reported, in order.", All{bad, good, unsure, reported, worse}, Result{False, "a is 1; c is not observed; b is 2"}},
		"AllHolding":  {"What True ones have to add is reported when all are.", All{good, reported, reported}, Result{True, "waits; waits"}},
		"AllNested":   {"Messages of inner ones are kept.", All{All{bad, worse}, unsure}, Result{False, "a is 1; b is 2; c is not observed"}},
		"AllSilent":   {"Probes without message add nothing.", All{fixed(False, ""), bad}, Result{False, "a is 1"}},
		"AllOddState": {"A status that does not exist is Unknown.", All{fixed("Maybe", "odd")}, Result{Unknown, "odd"}},
		"AllNil":      {"A probe that is not set is Unknown.", All{nil}, Result{Unknown, "no probe is set"}},
		"AnyFirst":    {"The message of the first True one is passed on.", Any{bad, reported, good}, Result{True, "waits"}},
		"AnyNone":     {"All are reported when none holds.", Any{bad, unsure}, Result{Unknown, "none holds: a is 1; c is not observed"}},
		"AnyEmpty":    {"Nothing cannot hold.", Any{}, Result{False, "there is no probe in it"}},
		"AnyNil":      {"A probe that is not set is Unknown.", Any{nil, bad}, Result{Unknown, "none holds: no probe is set; a is 1"}},
		"NotHolding":  {"A function cannot say what it asks.", Not{Inner: reported}, Result{False, "this is true and must not be: the negated probe"}},
		"NotUnknown":  {"The reason why it is not known is kept.", Not{Inner: unsure}, Result{Unknown, "c is not observed"}},
		"NotFalse":    {"The message of what must not hold is not of interest.", Not{Inner: bad}, Result{True, ""}},
		"NotNil":      {"A probe that is not set is Unknown.", Not{}, Result{Unknown, "no probe is set"}},
		"SelectNil":   {"A probe that is not set is Unknown.", Select{}, Result{Unknown, "no probe is set"}},
		"ObservedNil": {"A probe that is not set is Unknown.", ObservedGeneration{}, Result{Unknown, "no probe is set"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testProbe(t, tc.probe, map[string]probeCase{"Probe": {tc.reason, `{apiVersion: v1, kind: X}`, tc.want}})
		})
	}
}

func TestNot_SaysWhatHolds(t *testing.T) {
	const obj = `{apiVersion: v1, kind: X, a: x, b: x, status: {conditions: [{type: Stalled, status: "True"}]}}`
	cases := map[string]struct {
		inner Probe
		want  string
	}{
		"Condition":          {Condition{Type: "Stalled"}, `condition "Stalled" is "True"`},
		"FieldValue":         {FieldValue{Path: path(t, ".a"), Value: "x"}, `.a is "x"`},
		"FieldsEqual":        {FieldsEqual{A: path(t, ".a"), B: path(t, ".b")}, ".a equals .b"},
		"ObservedGeneration": {ObservedGeneration{Inner: Condition{Type: "Stalled"}}, `condition "Stalled" is "True"`},
		"Select":             {Select{Inner: FieldValue{Path: path(t, ".a"), Value: "x"}}, `.a is "x"`},
		"All":                {All{Condition{Type: "Stalled"}}, "the negated probe"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testProbe(t, Not{Inner: tc.inner}, map[string]probeCase{"Probe": {
				"The message names what must not be so.", obj, Result{False, "this is true and must not be: " + tc.want},
			}})
		})
	}
	namespaceDefault, _ := Default(schema.GroupKind{Kind: "Namespace"})
	testProbe(t, Not{Inner: namespaceDefault}, map[string]probeCase{"Default": {
		"A default probe names its kind.", `{apiVersion: v1, kind: Namespace, status: {phase: Active}}`,
		Result{False, "this is true and must not be: the Namespace is ready"},
	}})
}

func TestAll_MessageIsBounded(t *testing.T) {
	var many All
	for i := range 1000 {
		many = append(many, fixed(False, fmt.Sprintf("field%d is 1, expected 2", i)))
	}
	got := many.Probe(nil)
	if len(got.Message) > MaxMessage {
		t.Errorf("All has a message of %d bytes, want at most %d", len(got.Message), MaxMessage)
	}
	if !strings.HasPrefix(got.Message, "field0 is 1, expected 2; field1 ") || !strings.HasSuffix(got.Message, "...") {
		t.Errorf("All has the message %q, want the first ones and a mark that it is cut", got.Message)
	}
	if got := (Any{many, many}).Probe(nil); len(got.Message) > MaxMessage {
		t.Errorf("Any has a message of %d bytes, want at most %d", len(got.Message), MaxMessage)
	}
}

func TestSelect(t *testing.T) {
	selector := func(text string) labels.Selector {
		s, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const obj = `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {app: web, tier: front}}}`
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	cases := map[string]struct {
		reason string
		probe  Select
		object string
		asked  bool
	}{
		"Everything":      {"Without selector every object is selected.", Select{}, obj, true},
		"Kind":            {"The kind is selected in any version.", Select{Kind: deployment}, obj, true},
		"OtherKind":       {"Another kind is not.", Select{Kind: schema.GroupKind{Group: "apps", Kind: "DaemonSet"}}, obj, false},
		"OtherGroup":      {"Nor is the same kind of another group.", Select{Kind: schema.GroupKind{Group: "example.org", Kind: "Deployment"}}, obj, false},
		"CoreGroup":       {"The core group has an empty name.", Select{Kind: schema.GroupKind{Kind: "Pod"}}, `{apiVersion: v1, kind: Pod}`, true},
		"Labels":          {"Labels are selected.", Select{Labels: selector("app=web")}, obj, true},
		"OtherLabels":     {"Other labels are not.", Select{Labels: selector("app=db")}, obj, false},
		"LabelSet":        {"Sets of values are understood.", Select{Labels: selector("app in (db,web),tier!=back,!old")}, obj, true},
		"LabelMissing":    {"A label that has to be there is missing.", Select{Labels: selector("release")}, obj, false},
		"NoLabels":        {"An object may have no labels.", Select{Labels: selector("app=web")}, `{apiVersion: v1, kind: Pod}`, false},
		"OddLabels":       {"Labels of the wrong type are none.", Select{Labels: selector("app")}, `{apiVersion: v1, kind: Pod, metadata: {labels: {app: 3}}}`, false},
		"Both":            {"Kind and labels both have to match.", Select{Kind: deployment, Labels: selector("app=web")}, obj, true},
		"KindOnly":        {"A match of the kind alone does not do.", Select{Kind: deployment, Labels: selector("app=db")}, obj, false},
		"NothingSelected": {"A selector may select nothing.", Select{Labels: labels.Nothing()}, obj, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := Result{Status: True}
			if tc.asked {
				want = Result{Status: False, Message: "asked"}
			}
			tc.probe.Inner = fixed(False, "asked")
			testProbe(t, tc.probe, map[string]probeCase{"Probe": {tc.reason, tc.object, want}})
		})
	}
}

func TestObservedGeneration(t *testing.T) {
	testProbe(t, ObservedGeneration{Inner: fixed(False, "asked")}, map[string]probeCase{
		"Now": {
			reason: "The status is about the present spec.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: 3}}`,
			want:   Result{False, "asked"},
		},
		"Before": {
			reason: "The status is about an older spec.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: 2}}`,
			want:   Result{Unknown, "not observed yet (generation 3, observed 2)"},
		},
		"Absent": {
			reason: "Most kinds have no such field; the inner probe decides.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {}}`,
			want:   Result{False, "asked"},
		},
		"Float": {
			reason: "Some decoders read every number as a float.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: 3.0}}`,
			want:   Result{False, "asked"},
		},
		"NoNumber": {
			reason: "Text is no generation.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: "3"}}`,
			want:   Result{Unknown, ".status.observedGeneration is not a whole number"},
		},
		"NoGeneration": {
			reason: "A status about generation 1 is not about an object without one.",
			object: `{apiVersion: v1, kind: X, status: {observedGeneration: 1}}`,
			want:   Result{Unknown, "not observed yet (generation 0, observed 1)"},
		},
	})
}

func TestObservedGeneration_Required(t *testing.T) {
	testProbe(t, ObservedGeneration{Inner: All{}, Required: true}, map[string]probeCase{
		"Observed": {
			reason: "The controller has seen the present spec.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: 3}}`,
			want:   Result{Status: True},
		},
		"Absent": {
			reason: "Missing is not passing where it is required.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {}}`,
			want:   Result{Unknown, "not observed yet (generation 3, observed none)"},
		},
		"Old": {
			reason: "Nor is what is out of date.",
			object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {observedGeneration: 2}}`,
			want:   Result{Unknown, "not observed yet (generation 3, observed 2)"},
		},
	})
}

// What is missing passes neither a probe nor its negation.
func TestNot_Missing(t *testing.T) {
	obj := object(t, `{apiVersion: v1, kind: X, spec: {there: x}}`)
	for name, inner := range map[string]Probe{
		"Value":     FieldValue{Path: path(t, ".status.phase"), Value: "Failed"},
		"First":     FieldsEqual{A: path(t, ".status.phase"), B: path(t, ".spec.there")},
		"Second":    FieldsEqual{A: path(t, ".spec.there"), B: path(t, ".status.phase")},
		"Condition": Condition{Type: "Failed"},
		"Observed":  ObservedGeneration{Inner: All{}, Required: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []Probe{inner, Not{Inner: inner}, Any{inner, Not{Inner: inner}}} {
				if got := p.Probe(obj); got.Status != Unknown {
					t.Errorf("%T: Probe() = %v, want Unknown", p, got)
				}
			}
		})
	}
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		limit        int
		mark, want   string
	}{
		"Short":     {reason: "what fits is whole", text: "abc", limit: 3, mark: "...", want: "abc"},
		"Marked":    {reason: "the mark counts", text: "abcdefgh", limit: 6, mark: "...", want: "abc..."},
		"Unmarked":  {reason: "there may be none", text: "abcdef", limit: 4, want: "abcd"},
		"Character": {reason: "no character is cut in two", text: "aäöü", limit: 4, want: "aä"},
		"NoRoom":    {reason: "a limit below the mark leaves the mark", text: "abcdef", limit: 2, mark: "...", want: "..."},
		"Negative":  {reason: "a room that is none leaves nothing", text: "abcdef", limit: -1, want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Cut(tc.text, tc.limit, tc.mark); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNewResult(t *testing.T) {
	cases := map[string]struct{ message, want string }{
		"Plain":       {"a is 1", "a is 1"},
		"Empty":       {"", ""},
		"Lines":       {"a\nb\r\n\tc\u2028d\x00e", "a b   c d e"},
		"NotUTF8":     {"a\xffb", "a\uFFFDb"},
		"Long":        {strings.Repeat("x", MaxMessage+1), strings.Repeat("x", MaxMessage-3) + "..."},
		"JustFits":    {strings.Repeat("x", MaxMessage), strings.Repeat("x", MaxMessage)},
		"WholeRunes":  {strings.Repeat("€", 400), strings.Repeat("€", 340) + "..."},
		"GrowsByRune": {strings.Repeat("\xff", MaxMessage), strings.Repeat("\uFFFD", 340) + "..."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NewResult(False, tc.message)
			if got.Message != tc.want || got.Status != False {
				t.Errorf("NewResult(%q) = %q (%d bytes), want %q (%d bytes)", tc.message, got.Message, len(got.Message), tc.want, len(tc.want))
			}
		})
	}
}

func TestContainsSecrets(t *testing.T) {
	cases := map[string]struct {
		obj  *unstructured.Unstructured
		want bool
	}{
		"Secret":      {object(t, `{apiVersion: v1, kind: Secret}`), true},
		"OtherSecret": {object(t, `{apiVersion: example.org/v1, kind: Secret}`), true},
		"SecretList":  {&unstructured.Unstructured{Object: map[string]any{"kind": "SecretList"}}, true},
		"NoKind":      {&unstructured.Unstructured{Object: map[string]any{"data": "x"}}, true},
		"OddKind":     {&unstructured.Unstructured{Object: map[string]any{"kind": 3}}, true},
		"Empty":       {&unstructured.Unstructured{}, true},
		"Nil":         {nil, true},
		"ConfigMap":   {object(t, `{apiVersion: v1, kind: ConfigMap}`), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ContainsSecrets(tc.obj); got != tc.want {
				t.Errorf("ContainsSecrets() = %v, want %v", got, tc.want)
			}
		})
	}
}
