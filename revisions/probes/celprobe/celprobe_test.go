// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions/probes"
)

// gateway is an object with a status as controllers write it.
func gateway() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1",
		"kind":       "Gateway",
		"metadata":   map[string]any{"name": "web", "generation": int64(2), "labels": map[string]any{"a.b/c": "x"}},
		"spec":       map[string]any{"replicas": int64(3), "paused": false, "memory": "1024Mi", "version": "1.29.1"},
		"status": map[string]any{
			"readyReplicas": int64(3),
			"load":          1.5,
			"conditions": []any{
				map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)},
				map[string]any{"type": "Stalled", "status": "False"},
			},
		},
	}}
}

func compile(t testing.TB, expression, message string) *Probe {
	t.Helper()
	p, err := Compile(expression, message)
	if err != nil {
		t.Fatalf("Compile(%q): %v", expression, err)
	}
	return p
}

var evaluations = map[string]struct {
	reason     string
	expression string
	message    string
	want       probes.Result
}{
	"True": {
		reason: "The expression is true.", expression: `self.status.readyReplicas == self.spec.replicas`,
		want: probes.Result{Status: probes.True},
	},
	"False": {
		reason: "The author's message is reported.", expression: `self.status.readyReplicas > self.spec.replicas`, message: "too few replicas",
		want: probes.Result{Status: probes.False, Message: "too few replicas"},
	},
	"FalseWithoutMessage": {
		reason: "Without a message the expression is reported, on one line.", expression: "self.spec.replicas ==\n\t4",
		want: probes.Result{Status: probes.False, Message: "the expression is false: self.spec.replicas == 4"},
	},
	"FalseMessageOnOneLine": {
		reason: "The message is made fit to be shown.", expression: `false`, message: "two\nlines",
		want: probes.Result{Status: probes.False, Message: "two lines"},
	},
	"Conditions": {
		reason:     "Conditions are searched.",
		expression: `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True" && c.observedGeneration == self.metadata.generation)`,
		want:       probes.Result{Status: probes.True},
	},
	"DottedKey": {
		reason: "A name with dots is an index.", expression: `self.metadata.labels["a.b/c"] == "x"`,
		want: probes.Result{Status: probes.True},
	},
	"IntAndFloat": {
		reason: "Numbers of both types are compared.", expression: `self.status.load > 1 && self.status.load < self.spec.replicas`,
		want: probes.Result{Status: probes.True},
	},
	"Has": {
		reason: "A field that may be missing can be asked for.", expression: `!has(self.status.phase) && has(self.status.load)`,
		want: probes.Result{Status: probes.True},
	},
	"Optional": {
		reason: "Or be given a default.", expression: `self.?status.?phase.orValue("none") == "none"`,
		want: probes.Result{Status: probes.True},
	},
	"Quantity": {
		reason: "Quantities are compared by amount.", expression: `isQuantity(self.spec.memory) && quantity(self.spec.memory) == quantity("1Gi")`,
		want: probes.Result{Status: probes.True},
	},
	"Semver": {
		reason: "Kubernetes' libraries are there.", expression: `semver(self.spec.version).isGreaterThan(semver("1.28.0")) && self.spec.version.split(".").size() == 3`,
		want: probes.Result{Status: probes.True},
	},
	"MissingField": {
		reason: "A field that is missing is not false.", expression: `self.status.phase == "Ready"`,
		want: probes.Result{Status: probes.Unknown, Message: "evaluating the CEL expression: no such key: phase"},
	},
	"WrongType": {
		reason: "A value of the wrong type is not false.", expression: `self.spec.memory > 3`,
		want: probes.Result{Status: probes.Unknown, Message: "evaluating the CEL expression: no such overload"},
	},
	"BadConversion": {
		reason: "A value that cannot be converted is not false.", expression: `int(self.spec.memory) > 3`,
		want: probes.Result{Status: probes.Unknown, Message: `evaluating the CEL expression: type conversion error from 'string' to 'int'`},
	},
	"DivisionByZero": {
		reason: "Arithmetic may fail.", expression: `1 / (self.spec.replicas - 3) > 0`,
		want: probes.Result{Status: probes.Unknown, Message: "evaluating the CEL expression: division by zero"},
	},
}

func TestProbe(t *testing.T) {
	for name, tc := range evaluations {
		t.Run(name, func(t *testing.T) {
			obj := gateway()
			got := compile(t, tc.expression, tc.message).Probe(obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nProbe(): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(gateway(), obj); diff != "" {
				t.Errorf("the object was changed: -before, +after:\n%s", diff)
			}
		})
	}
}

func TestProbe_OnNothing(t *testing.T) {
	var none *Probe
	p := compile(t, `!has(self.status)`, "")
	cases := map[string]struct {
		probe *Probe
		obj   *unstructured.Unstructured
		want  probes.Result
	}{
		"NilObject":   {p, nil, probes.Result{Status: probes.Unknown, Message: "there is no object to evaluate"}},
		"EmptyObject": {p, &unstructured.Unstructured{}, probes.Result{Status: probes.Unknown, Message: "there is no object to evaluate"}},
		"NilProbe":    {none, gateway(), probes.Result{Status: probes.Unknown, Message: "the CEL expression is not compiled"}},
		"ZeroProbe":   {&Probe{}, gateway(), probes.Result{Status: probes.Unknown, Message: "the CEL expression is not compiled"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.probe.Probe(tc.obj)); diff != "" {
				t.Errorf("Probe(): -want, +got:\n%s", diff)
			}
		})
	}
}

func TestCompile_Errors(t *testing.T) {
	cases := map[string]struct {
		reason     string
		expression string
		line, col  int
		says       string
	}{
		"Empty":       {"Nothing is no expression.", ``, 1, 1, "Syntax error"},
		"Syntax":      {"The place of a syntax error is reported.", `self.status ==`, 1, 15, "Syntax error"},
		"SecondLine":  {"So is the line.", "self.a == 1 &&\n  other.b == 2", 2, 3, "undeclared reference to 'other'"},
		"NoFunction":  {"A function that does not exist is refused.", `self.a.exist(x, x)`, 1, 13, "undeclared reference to 'exist'"},
		"TypeClash":   {"Types that are known are checked.", `"a" + 1 == self.b`, 1, 5, "no matching overload"},
		"NotBool":     {"A number is no answer.", `size("abc")`, 0, 0, "is of type int, expected bool"},
		"MaybeBool":   {"A field may be anything.", `self.spec.paused`, 0, 0, `compare a field that is true or false with "== true"`},
		"BadRegex":    {"A regular expression that is written out is checked.", `"a".matches("(")`, 1, 13, "invalid matches argument"},
		"TooLong":     {"An expression is bounded.", `"` + strings.Repeat("a", MaxExpression) + `" != ""`, 0, 0, "longer than 4096 bytes"},
		"NoOldObject": {"There is only the object.", `oldSelf.a == self.a`, 1, 1, "undeclared reference to 'oldSelf'"},
		"NoRequests":  {"Nothing reaches out to the cluster.", `authorizer.group("").resource("pods").check("get").allowed()`, 1, 1, "undeclared reference to 'authorizer'"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(tc.expression, "")
			var compileErr *CompileError
			if !errors.As(err, &compileErr) {
				t.Fatalf("%s\nCompile() = %v, %v, want a CompileError", tc.reason, p, err)
			}
			if compileErr.Line != tc.line || compileErr.Column != tc.col || !strings.Contains(compileErr.Reason, tc.says) {
				t.Errorf("%s\nCompile(): %v, want line %d, column %d and %q", tc.reason, err, tc.line, tc.col, tc.says)
			}
			if !strings.HasPrefix(err.Error(), "compiling CEL expression: ") {
				t.Errorf("Compile(): %v does not say what was done", err)
			}
		})
	}
}

func TestProbe_TellsNoSecret(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "hunter2", "hunter2": "x"}}
	unnamed := map[string]any{"data": secret["data"]}
	for _, expression := range []string{
		`int(self.data.password) > 3`,
		`self.data[self.data.password].x == 1`,
		`quantity(self.data.password).isInteger()`,
		`self.data[self.data.password + "!"] == "x"`,
		`timestamp(self.data.password) < timestamp("2026-01-01T00:00:00Z")`,
		`self.data.password == "x"`,
	} {
		for _, content := range []map[string]any{secret, unnamed} {
			got := compile(t, expression, "").Probe(&unstructured.Unstructured{Object: content})
			if got.Status == probes.True || got.Message == "" || strings.Contains(got.Message, "hunter2") {
				t.Errorf("%s on a Secret: %v", expression, got)
			}
		}
	}
	// The same on another kind does quote the value, so the test can fail.
	open := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": secret["data"]}
	got := compile(t, `self.data[self.data.password + "!"] == "x"`, "").Probe(&unstructured.Unstructured{Object: open})
	if !strings.Contains(got.Message, "hunter2") {
		t.Errorf("on a ConfigMap: %v, want the value in the message", got)
	}
}

func TestProbe_Concurrently(t *testing.T) {
	p := compile(t, `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`, "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if got := p.Probe(gateway()); got.Status != probes.True {
					t.Errorf("Probe() = %v, want True", got)
				}
			}
		})
	}
	group.Wait()
}

// hostile is an object as large as a cluster takes it, made to be expensive.
func hostile() *unstructured.Unstructured {
	entries := make([]any, 5000)
	for i := range entries {
		entries[i] = map[string]any{"number": int64(i), "text": "x"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Widget", "big": strings.Repeat("a", 1<<20), "amount": "1e2000000000", "many": int64(1 << 40), "entries": entries,
		"template": strings.Repeat("%.999999f", 100),
	}}
}

func TestProbe_CostIsBounded(t *testing.T) {
	obj := hostile()
	cases := map[string]struct {
		reason     string
		expression string
		says       string
	}{
		"NestedLoops":  {"Loops in loops are counted.", `self.entries.all(a, self.entries.all(b, b.number >= 0))`, "cost limit exceeded"},
		"LongString":   {"So is walking over a string.", `self.big.matches("(a*)*b")`, "cost limit exceeded"},
		"Range":        {"A list of any length cannot be made.", `lists.range(self.many).size() > 0`, "exceeds maximum"},
		"RangeInRange": {"Nor lists of lists.", `lists.range(1000000).map(x, lists.range(1000)).size() > 0`, "cost limit exceeded"},
		"Quantity":     {"An exponent is not written out.", `quantity(self.amount).isInteger()`, "reading a quantity"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := compile(t, tc.expression, "")
			got := p.Probe(obj)
			if got.Status != probes.Unknown || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s\nProbe() = %v, want Unknown with %q", tc.reason, got, tc.says)
			}
		})
	}
}

func TestProbe_UsualQuestionsAreCheap(t *testing.T) {
	obj := hostile()
	p := compile(t, `self.entries.all(e, has(e.number) && e.text == "x") && self.entries.exists(e, e.number == 4999)`, "")
	if got := p.Probe(obj); got.Status != probes.True {
		t.Errorf("going over 5,000 entries twice = %v, want True", got)
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		``, `true`, `self.a == 1`, `self.status.conditions.exists(c, c.type == "Ready")`, `quantity(self.amount) == quantity("1")`,
		`[1, 2].map(x, x * 2).flatten()`, "\xff", `"%s".format([self])`, `self == self`, `self.?a.orValue(1) in [1]`,
	} {
		f.Add(seed)
	}
	obj := gateway()
	f.Fuzz(func(t *testing.T, expression string) {
		p, err := Compile(expression, "")
		if err != nil {
			return
		}
		got := p.Probe(obj)
		if len(got.Message) > probes.MaxMessage || (got.Status != probes.True && got.Message == "") {
			t.Errorf("Probe() with %q = %v", expression, got)
		}
	})
}
