// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The budget itself: it can be read, what it wants of peers is measured, and the
// figures of design are in it.
func TestBudget(t *testing.T) {
	rows, err := readBudget(budgetFile)
	if err != nil {
		t.Fatal(err)
	}
	budgets := map[string]float64{}
	for _, r := range rows {
		if r.Budget != nil {
			budgets[r.key()] = *r.Budget
		}
	}
	for key, most := range map[string]float64{
		"first rollout/object writes":                         35,
		"first rollout/watches":                               6,
		"first rollout/status patches":                        4,
		"steady state/requests in 30 s":                       0,
		"steady state/µs a pass":                              1000,
		"steady state/kB a pass":                              100,
		"one drifted object/object writes":                    1,
		"upgrade, 1 changed, 1 removed/object writes":         1,
		"upgrade, 1 changed, 1 removed/object deletes":        1,
		"upgrade, 1 changed, 1 removed/status patches":        4,
		"archived revision/requests a pass":                   0,
		"restart with 5,000 archived revisions/writes":        0,
		"rollout of 1,000 packages of 20 objects/MB resident": 150,

		"1,000 ClusterExtensions at rest/requests in 30 s":                         0,
		"1,000 ClusterExtensions at rest/registry requests":                        0,
		"installation of 1,000 ClusterExtensions of 5 objects/MB resident":         170,
		"restart with 1,000 ClusterExtensions/writes":                              0,
		"catalog with a new bundle for 1 of 1,000 ClusterExtensions/object writes": 1,
	} {
		if got, ok := budgets[key]; !ok || got > most {
			t.Errorf("the budget of %s is %v (%t), and %v was promised", key, got, ok, most)
		}
	}
}

func TestReadBudget_Refuses(t *testing.T) {
	const good = "rows:\n- {step: a, figure: b, budget: 1, value: 1, margin: none, why: because}\n"
	if _, err := readBudget([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason, file, want string
	}{
		"Empty":        {"a budget without rows judges nothing", "rows: []", "no rows"},
		"UnknownField": {"a misspelt field would not be seen", strings.Replace(good, "budget", "buget", 1), "buget"},
		"NoReason":     {"a figure without an explanation cannot be kept", strings.Replace(good, "because", `""`, 1), "lacks why"},
		"Twice":        {"one of two would win", good + "- {step: a, figure: b, value: 1, margin: none, why: because}\n", "two of it"},
		"NoSource":     {"a quoted figure has a source", strings.Replace(good, "why", "peers: [{name: P, quoted: x}], why", 1), "peer"},
		"BothKinds":    {"a figure is quoted or measured", strings.Replace(good, "why", "peers: [{name: P, quoted: x, source: y, run: z}], why", 1), "peer"},
	} {
		if _, err := readBudget([]byte(tc.file)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v, want one with %q: %s", name, err, tc.want, tc.reason)
		}
	}
}

func TestJudge(t *testing.T) {
	one := 1.0
	for name, tc := range map[string]struct {
		reason   string
		row      row
		measured figures
		c        conditions
		want     string
		fails    bool
	}{
		"Below":           {reason: "less is fine", row: row{Budget: &one}, measured: figures{"/": 0}, want: isOK},
		"At":              {reason: "the budget is the most that is allowed", row: row{Budget: &one}, measured: figures{"/": 1}, want: isOK},
		"Over":            {reason: "any excess counts", row: row{Budget: &one}, measured: figures{"/": 1.001}, want: isOver, fails: true},
		"Missing":         {reason: "what was not measured does not hold", row: row{Budget: &one}, want: isMissing, fails: true},
		"MissingReported": {reason: "also what is only reported has to be", row: row{}, want: isMissing, fails: true},
		"Reported":        {reason: "without a budget nothing is judged", row: row{}, measured: figures{"/": 9}, want: isReported},
		"NoScale":         {reason: "the large part was left out", row: row{Budget: &one, Scale: true}, want: isOutOfReach},
		"Scale":           {reason: "the large part has run", row: row{Budget: &one, Scale: true}, measured: figures{"/": 2}, c: conditions{scale: true}, want: isOver, fails: true},
		"ScaleMissed":     {reason: "the large part has run, without the figure", row: row{Budget: &one, Scale: true}, c: conditions{scale: true}, want: isMissing, fails: true},
		"NotFull":         {reason: "the budget is for more packages", row: row{Budget: &one, Scale: true, Full: true}, measured: figures{"/": 2}, c: conditions{scale: true}, want: isOutOfReach},
		"Full":            {reason: "as many packages as the budget is for", row: row{Budget: &one, Scale: true, Full: true}, measured: figures{"/": 2}, c: conditions{scale: true, full: true}, want: isOver, fails: true},
		"NotLinux":        {reason: "the system does not tell", row: row{Budget: &one, Linux: true}, want: isUnavailable},
		"Linux":           {reason: "the system tells", row: row{Budget: &one, Linux: true}, c: conditions{linux: true}, want: isMissing, fails: true},
	} {
		verdicts := judge([]row{tc.row}, tc.measured, tc.c)
		if got := verdicts[0].result; got != tc.want {
			t.Errorf("%s: the verdict is %q, want %q: %s", name, got, tc.want, tc.reason)
		}
		if failed := failure(verdicts) != nil; failed != tc.fails {
			t.Errorf("%s: it fails: %t, want %t: %s", name, failed, tc.fails, tc.reason)
		}
	}
}

func TestPrintTable(t *testing.T) {
	one, quoted := 1.0, peer{Name: "Other", Quoted: "many", Source: "a book"}
	measured := figures{"a/x": 2, "a/y": 0.25, "peer/z": 7}
	verdicts := judge([]row{
		{Step: "a", Figure: "x", Budget: &one, Peers: []peer{quoted, {Name: "Peer", Run: "peer/z"}}},
		{Step: "a", Figure: "y", Peers: []peer{quoted, {Name: "Gone", Run: "peer/none"}}},
		{Step: "b", Figure: "z", Budget: &one},
	}, measured, conditions{})
	var out bytes.Buffer
	if err := printTable(&out, verdicts, measured); err != nil {
		t.Fatal(err)
	}
	want := `STEP  FIGURE  BUDGET  MEASURED  VERDICT       PEERS
a     x       1       2         OVER          Other many [1], Peer 7 [2]
      y       -       0.25      -             Other many [1], Gone (not measured)
b     z       1       -         NOT MEASURED
[1] a book
[2] ` + sourceRun + "\n"
	if diff := cmp.Diff(want, strings.ReplaceAll(out.String(), "MEASURED  \n", "MEASURED\n")); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

func TestReadBenchmark(t *testing.T) {
	const output = "goos: linux\nBenchmarkReconcile_AtRest/Prepared-2   1000  200000 ns/op  90000 B/op  617 allocs/op\n" +
		"BenchmarkReconcile_AtRest/Prepared-2   1000  100000.5 ns/op  90001 B/op  617 allocs/op\n" +
		"BenchmarkReconcile_AtRest/Unprepared-2   1  5 ns/op  5 B/op  5 allocs/op\nPASS\n"
	nanoseconds, size, err := readBenchmark(output)
	if err != nil || nanoseconds != 100000.5 || size != 90000 {
		t.Errorf("readBenchmark = %v ns, %v B, %v, want the least of each", nanoseconds, size, err)
	}
	if _, _, err := readBenchmark("PASS"); err == nil {
		t.Error("a result that is missing must not be 0")
	}
}

func TestMemoryOf(t *testing.T) {
	got := memoryOf("Name:\tstrata\nVmHWM:\t  200000 kB\nVmRSS:\t  100000 kB\nRssAnon:\t   50000 kB\nRssFile:\t   50000 kB\n")
	if want := (memory{resident: 102.4, peak: 204.8, anonymous: 51.2}); got != want {
		t.Errorf("memoryOf = %+v, want %+v", got, want)
	}
}

func TestCPUOf(t *testing.T) {
	if got := cpuOf("42 (a name) with ) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 9 0 1 2 3\n"); got != 0 {
		t.Errorf("cpuOf = %v of a line that cannot be read", got)
	}
	if got := cpuOf("42 (strata-manager) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 9 0 1 2 3\n"); got != 2*time.Second {
		t.Errorf("cpuOf = %v, want 2s", got)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		text, err := os.ReadFile("/proc/self/stat")
		if err != nil || len(strings.Fields(string(text))) < 20 {
			t.Errorf("/proc/self/stat is not as expected: %q, %v", text, err)
		}
	}
}
