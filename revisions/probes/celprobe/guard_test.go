// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe

import (
	"math"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/strata-run/strata/revisions/probes"
)

// uncounted compiles an expression without a limit for its cost, so that only the
// guard can stop it. What is not stopped takes minutes or all memory.
func uncounted(t *testing.T, expression string) *Probe {
	t.Helper()
	base, err := baseEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := base.env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := base.env.Program(ast, cel.CostLimit(math.MaxUint64), cel.CustomDecoratorV2(base.guard))
	if err != nil {
		t.Fatal(err)
	}
	return &Probe{program: program, message: "false"}
}

func TestGuard_Refuses(t *testing.T) {
	obj := hostile()
	cases := map[string]struct {
		reason     string
		expression string
	}{
		"Replace":       {"A string is not put into itself for each character.", `self.big.replace("a", self.big).size() > 0`},
		"Join":          {"It is not joined with itself.", `lists.range(1000).map(x, self.big).join().size() > 0`},
		"Flatten":       {"Lists that repeat a list are not written out.", `lists.range(10000).map(x, self.entries).flatten().size() > 0`},
		"Equal":         {"Nor compared.", `lists.range(10000).map(x, self.entries) == lists.range(10000).map(x, self.entries)`},
		"NotEqual":      {"Not by the other operator either.", `lists.range(10000).map(x, self.entries) != lists.range(10000).map(x, self.entries)`},
		"In":            {"Nor searched.", `"x" in lists.range(10000).map(x, self.big)`},
		"IndexOf":       {"A long string is not searched for in another.", `self.big.indexOf(self.big.substring(500000) + "b") > 0`},
		"LastIndexOf":   {"Not from behind either.", `self.big.lastIndexOf("b" + self.big.substring(500000)) > 0`},
		"Distinct":      {"Entries are not compared with each other.", `self.entries.distinct().size() > 0`},
		"Sets":          {"Nor with those of another list.", `sets.contains(self.entries, self.entries)`},
		"Equivalent":    {"In no order.", `sets.equivalent(self.entries, self.entries)`},
		"Intersects":    {"Nor until one is found.", `sets.intersects(self.entries, lists.range(4000).map(x, self.entries))`},
		"Sort":          {"Large strings are not sorted.", `lists.range(1000).map(x, self.big).sort().size() > 0`},
		"SortBy":        {"Nor what has them.", `lists.range(1000).sortBy(x, self.big).size() > 0`},
		"Find":          {"A pattern of the object is not looked for.", `self.big.find(self.big) == ""`},
		"FindAll":       {"Not for all places either.", `self.big.findAll(self.big) == []`},
		"Precision":     {"Digits are not written out.", `"%.99999999f".format([1.0]) != ""`},
		"ManyPrecision": {"Not in a template of the object either.", `self.template.format(lists.range(100).map(x, 1.0)) != ""`},
		"Pattern":       {"A pattern of the object is not compiled for a long string.", `self.big.matches(self.big)`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := uncounted(t, tc.expression).Probe(obj)
			if got.Status != probes.Unknown || !strings.Contains(got.Message, errTooMuchWork.Error()) {
				t.Errorf("%s\nProbe() without a limit = %v, want Unknown with %q", tc.reason, got, errTooMuchWork)
			}
			if got := compile(t, tc.expression, "").Probe(obj); got.Status != probes.Unknown {
				t.Errorf("%s\nProbe() = %v, want Unknown", tc.reason, got)
			}
		})
	}
}

func TestGuard_LeavesRoom(t *testing.T) {
	expressions := map[string]string{
		"Replace":    `"abc".replace("b", "x") == "axc" && "abb".replace("b", "x", 1) == "axb"`,
		"IndexOf":    `"abc".indexOf("c") == 2 && "abcabc".indexOf("a", 1) == 3 && "abcabc".lastIndexOf("b") == 4`,
		"Matches":    `"a1".matches("[a-z][0-9]") && "a1".find("[0-9]") == "1" && "a1b2".findAll("[0-9]") == ["1", "2"]`,
		"Join":       `["a", "b"].join(",") == "a,b" && ["a", "b"].join() == "ab"`,
		"Sets":       `sets.contains([1, 2], [1]) && sets.equivalent([1], [1, 1]) && !sets.intersects([1], [2])`,
		"Lists":      `[1, 2, 2].distinct() == [1, 2] && [[1], [2]].flatten() == [1, 2] && [2, 1].sort() == [1, 2]`,
		"SortBy":     `[{"n": 2}, {"n": 1}].sortBy(e, e.n)[0].n == 1`,
		"Format":     `"%.2f of %d".format([1.5, 3]) == "1.50 of 3"`,
		"Equal":      `self.spec == {"replicas": dyn(3), "paused": dyn(false), "memory": dyn("1024Mi"), "version": dyn("1.29.1")} && self.spec.replicas != "3"`,
		"In":         `"spec" in self && self.spec.replicas in [1, 2, 3] && !(4 in [1, 2, 3])`,
		"LongSets":   `sets.contains(lists.range(200), lists.range(100)) && lists.range(100).map(x, "name-" + string(x)).distinct().size() == 100`,
		"LongText":   `"abcdefghij".split("").map(a, "abcdefghij".split("").map(b, "some words ")).flatten().join().replace("some", "more").matches("^(more words )+$")`,
		"NoQuantity": `!isQuantity("web") && !isQuantity(self.metadata.name)`,
		"Exponent":   `quantity("1e3") == quantity("1k")`,
		"Mapped":     `self.status.conditions.map(c, c.type).join(", ") == "Ready, Stalled"`,
	}
	for name, expression := range expressions {
		t.Run(name, func(t *testing.T) {
			if got := compile(t, expression, "").Probe(gateway()); got.Status != probes.True {
				t.Errorf("Probe() with %s = %v, want True", expression, got)
			}
		})
	}
}

func TestLargestPrecision(t *testing.T) {
	for template, want := range map[string]int{
		"": 0, "%d": 0, "%.3f": 3, "%.3f %.12e %.1f": 12, "100%.": 0, "%.99999999999999999999f": maxWork + 1,
	} {
		if got := largestPrecision(template); min(got, maxWork+1) != want {
			t.Errorf("largestPrecision(%q) = %d, want %d", template, got, want)
		}
	}
}

func TestWeight(t *testing.T) {
	adapt := types.DefaultTypeAdapter.NativeToValue
	huge := strings.Repeat("a", maxWork+5)
	cases := map[string]struct {
		value ref.Val
		want  int
	}{
		"Number":     {types.Int(1 << 40), 1},
		"String":     {types.String("abc"), 3},
		"HugeString": {types.String(huge), maxWork + 1},
		"Bytes":      {types.Bytes("abc"), 3},
		"HugeBytes":  {types.Bytes(huge), maxWork + 1},
		"List":       {adapt([]any{"abc", int64(1)}), 1 + (entryWork + 3) + (entryWork + 1)},
		"Map":        {adapt(map[string]any{"ab": "abc"}), 1 + (entryWork + 2) + 3},
		"Nested":     {adapt([]any{[]any{"abc"}}), 1 + entryWork + (1 + entryWork + 3)},
		"HugeList":   {adapt([]any{huge, huge}), maxWork + 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := weight(tc.value); got != tc.want {
				t.Errorf("weight() = %d, want %d", got, tc.want)
			}
		})
	}
}
