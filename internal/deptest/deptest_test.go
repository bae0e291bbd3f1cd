// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const goodTable = `
# Architecture

| where is | it |
|---|---|
| a | b |

| package | may import | its tests also | notes |
|---|---|---|---|
| ` + "`api/v1alpha1`" + ` | nothing of ours | | the API |
| ` + "`revisions`" + ` | ` + "`revisions/probes`" + ` | ` + "`revisions/revisionstest`" + ` | the engine |
| ` + "`test/...`" + ` | everything | | |

More text.
`

func TestReadTable(t *testing.T) {
	cases := map[string]struct {
		reason   string
		markdown string
		want     []Row
		fails    string
	}{
		"Good": {
			reason: "only the table with the right columns is read, to its end", markdown: goodTable,
			want: []Row{
				{Package: "api/v1alpha1"},
				{Package: "revisions", Imports: []string{"revisions/probes"}, TestImports: []string{"revisions/revisionstest"}},
				{Package: "test/...", Imports: []string{Everything}},
			},
		},
		"Absent": {
			reason: "without a table nothing would be checked", markdown: "# Architecture\n", fails: "no table",
		},
		"NoPackage": {
			reason:   "a row that names no package is a mistake",
			markdown: strings.Replace(goodTable, "`revisions`", "revisions", 1), fails: "one package in backticks",
		},
		"ShortRow": {
			reason:   "a row with too few cells is a mistake",
			markdown: strings.Replace(goodTable, "| everything | | |", "|", 1), fails: "cells",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ReadTable(strings.NewReader(tc.markdown))
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Fatalf("%s: error %v, want one with %q", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// rules are all checks, with a table that knows the folders of the cases below.
func rules(packages []Package) []string {
	rows := []Row{
		{Package: "api/v1alpha1"},
		{Package: "revisions/probes"},
		{Package: "revisions", Imports: []string{"revisions/probes"}, TestImports: []string{"revisions/revisionstest"}},
		{Package: "internal/...", Imports: []string{"revisions"}},
		{Package: "internal/status", Imports: []string{"api/v1alpha1"}},
		{Package: "cmd/...", Imports: []string{Everything}},
	}
	rows = rowsFor(rows, packages)
	var problems []string
	problems = append(problems, Imports(rows, packages)...)
	problems = append(problems, Names(packages)...)
	problems = append(problems, LongTests(packages)...)
	problems = append(problems, Sleeps(packages)...)
	problems = append(problems, Comments(packages)...)
	problems = append(problems, Libraries(packages)...)
	problems = append(problems, Clocks(packages)...)
	problems = append(problems, Words(packages)...)
	return append(problems, Writers(packages)...)
}

// rowsFor drops the rows that a case has no package for.
func rowsFor(rows []Row, packages []Package) []Row {
	var used []Row
	for _, row := range rows {
		for _, p := range packages {
			if row.covers(p.Folder) > 0 {
				used = append(used, row)
				break
			}
		}
	}
	return used
}

// ruleCase is a case of [TestRules].
type ruleCase struct {
	reason string
	files  map[string]string
	want   []string // a part of each problem, in order
}

var ruleOurs = func(folder string) string { return `import _ "` + Module + "/" + folder + `"` }

// ruleCases are the cases of [TestRules].
var ruleCases = map[string]ruleCase{
	"Allowed": {
		reason: "an import that the table lists is no problem",
		files: map[string]string{
			"revisions/doc.go":          "// Package revisions rolls out.\npackage revisions\n" + ruleOurs("revisions/probes"),
			"revisions/engine_test.go":  "package revisions\n" + ruleOurs("revisions/revisionstest"),
			"revisions/probes/probe.go": "// Package probes asks.\npackage probes\nimport _ \"k8s.io/apimachinery/pkg/types\"",
		},
	},
	"NotInTable": {
		reason: "an import that the table does not list is named with its file",
		files:  map[string]string{"revisions/probes/probe.go": "// Package probes asks.\npackage probes\n" + ruleOurs("revisions")},
		want:   []string{"revisions/probes/probe.go: imports revisions"},
	},
	"TestOnly": {
		reason: "what only tests may import is not for others",
		files:  map[string]string{"revisions/engine.go": "// Package revisions rolls out.\npackage revisions\n" + ruleOurs("revisions/revisionstest")},
		want:   []string{"imports revisions/revisionstest"},
	},
	"ExactRowWins": {
		reason: "a row for the package wins over one for its folder",
		files:  map[string]string{"internal/status/status.go": "// Package status maps.\npackage status\n" + ruleOurs("revisions")},
		want:   []string{"imports revisions, which the table of ARCHITECTURE.md does not allow for internal/status"},
	},
	"UnknownPackage": {
		reason: "a package that the table does not list is a problem",
		files:  map[string]string{"extra/extra.go": "// Package extra is new.\npackage extra"},
		want:   []string{"extra: the package is missing"},
	},
	"Name": {
		reason: "a package is named for its noun, and its folder for the package",
		files: map[string]string{
			"internal/util/util.go":   "// Package util does things.\npackage util",
			"internal/watch/watch.go": "// Package watches watches.\npackage watches",
		},
		want: []string{"package util is named for nothing", "package watches stands in folder internal/watch"},
	},
	"Comment": {
		reason: "each package has one comment, in doc.go when there are several files",
		files: map[string]string{
			"internal/a/a.go": "package a",
			"internal/b/b.go": "// Package b is.\npackage b", "internal/b/c.go": "package b",
			"internal/d/d.go": "// Package d is.\npackage d", "internal/d/doc.go": "// Package d is.\npackage d",
		},
		want: []string{"internal/a: no file holds", "internal/b/b.go: holds the package comment", "internal/d: internal/d/d.go and internal/d/doc.go"},
	},
	"Libraries": {
		reason: "public and pure packages keep to what their importers can bear",
		files: map[string]string{
			"api/v1alpha1/doc.go":       "// Package v1alpha1 is the API.\npackage v1alpha1\nimport _ \"k8s.io/api/core/v1\"",
			"revisions/decide.go":       "// Package revisions rolls out.\npackage revisions\nimport _ \"context\"",
			"internal/status/status.go": "// Package status maps.\npackage status\nimport _ \"net/http\"",
		},
		want: []string{"imports k8s.io/api/core/v1: the API", "imports net/http: the package is pure", "imports context: what decides is pure"},
	},
	"Clocks": {
		reason: "what decides is told the time, and may count with it",
		files: map[string]string{
			"revisions/doc.go":      "// Package revisions rolls out.\npackage revisions\nimport \"time\"\nfunc f() time.Time { return time.Now() }",
			"revisions/backoff.go":  "package revisions\nimport \"time\"\nfunc g(t time.Time) time.Time { return t.Add(time.Second) }",
			"internal/watch/doc.go": "// Package watch watches.\npackage watch\nimport \"time\"\nfunc f() time.Time { return time.Now() }",
		},
		want: []string{"revisions/doc.go:4:29: asks the clock"},
	},
	"Fronts": {
		reason: "in a front's folder all files decide but those that are listed; the loop of all fronts acts",
		files: map[string]string{
			"internal/front/loop.go":            "// Package front is the loop.\npackage front\nimport \"context\"\nfunc f(context.Context) {}",
			"internal/front/gateway/doc.go":     "// Package gateway is a front.\npackage gateway",
			"internal/front/gateway/observe.go": "package gateway\nimport \"context\"\nimport \"time\"\nvar now = time.Now()\nfunc f(ctx context.Context) error { return c.Delete(ctx, now) }",
			"internal/front/gateway/render.go":  "package gateway\nimport _ \"context\"\nimport \"time\"\nvar then = time.Now()",
		},
		want: []string{"gateway/render.go: imports context", "gateway/render.go:4:12: asks the clock"},
	},
	"Writers": {
		reason: "only two files of the engine, the loops and the command line write",
		files: map[string]string{
			"revisions/phase.go": "// Package revisions rolls out.\npackage revisions\n" +
				"import \"context\"\n" +
				"func (e *Engine) f(ctx context.Context, o *Object) error { return e.Client.Delete(ctx, o) }",
			"revisions/apply.go": "package revisions\n" +
				"import (\n\t\"context\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n" +
				"func g(ctx context.Context, c client.Client, o client.Object) error { return c.Create(ctx, o) }",
		},
		want: []string{"phase.go:4:67: writes to the cluster", "revisions/phase.go: holds the package comment"},
	},
	"Words": {
		reason: "a text and a comment say who acts, those of tests too",
		files: map[string]string{
			"internal/watch/doc.go":       "// Package watch shows what is\n// told.\npackage watch\nvar a = []string{\"the object is somebody's\", `one\ntwo is told`}",
			"internal/watch/some_test.go": "package watch\n// b is for somebody.\nvar b = \"somebody\"",
		},
		want: []string{
			"doc.go:4:18, line 1 of the text: \"somebody\"", "line 2 of the text: \"told\"", "doc.go:1:1, line 1 of the text: \"told\"",
			"some_test.go:3:9, line 1 of the text: \"somebody\"", "some_test.go:2:1, line 1 of the text: \"somebody\"",
		},
	},
	"Sleeps": {
		reason: "a test waits for conditions; only the helper that does so sleeps, and a bubble's clock costs no time",
		files: map[string]string{
			"internal/watch/watch.go":                    "// Package watch watches.\npackage watch\nimport \"time\"\nfunc f() { time.Sleep(1) }",
			"internal/watch/some_test.go":                "package watch\nimport \"time\"\nfunc g() { time.Sleep(1) }",
			"internal/watch/after_test.go":               "package watch\nimport \"time\"\nfunc i() {\nselect {\ncase <-time.After(1):\n}\n<-time.After(1)\nfor ; ; <-time.After(1) {\n}\n}",
			"internal/watch/bubble_test.go":              "package watch\nimport _ \"testing/synctest\"\nimport \"time\"\nfunc h() { time.Sleep(1) }",
			"internal/localplane/planetest/planetest.go": "// Package planetest polls.\npackage planetest\nimport \"time\"\nfunc f() { time.Sleep(1) }",
		},
		want: []string{"watch.go:4:12: sleeps", "after_test.go:7:1: sleeps", "after_test.go:8:9: sleeps", "some_test.go:3:12: sleeps"},
	},
	"LongTests": {
		reason: "a function in a test may have 100 lines, one elsewhere is not looked at here",
		files: map[string]string{
			"internal/watch/doc.go":       "// Package watch watches.\npackage watch\nfunc f() {" + strings.Repeat("\n", 100) + "}",
			"internal/watch/some_test.go": "package watch\nfunc g() {" + strings.Repeat("\n", 99) + "}\nfunc h() {" + strings.Repeat("\n", 100) + "}",
		},
		want: []string{"some_test.go:102:1: h has 101 lines"},
	},
	"Left": {
		reason: "other modules, test data and programs that are only run are not of the module",
		files: map[string]string{
			"tools/go.mod": "module tools", "tools/util/util.go": "package util",
			"revisions/probes/testdata/util.go": "package util", "internal/gen.go": "//go:build ignore\n\npackage main",
		},
	},
}

func TestRules(t *testing.T) {
	for name, tc := range ruleCases {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for path, content := range tc.files {
				files[path] = &fstest.MapFile{Data: []byte(content)}
			}
			packages, err := ReadTree(files)
			if err != nil {
				t.Fatal(err)
			}
			got := rules(packages)
			for _, want := range tc.want {
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("%s: no problem with %q in\n%s", tc.reason, want, strings.Join(got, "\n"))
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%s: %d problems, want %d:\n%s", tc.reason, len(got), len(tc.want), strings.Join(got, "\n"))
			}
		})
	}
}

func TestFronts(t *testing.T) {
	packages, err := ReadTree(fstest.MapFS{
		"internal/front/kyma/front.go":    {Data: []byte("package kyma\nimport _ \"" + Module + "/internal/front/kyma/mesh\"\nimport _ \"" + Module + "/internal/front\"")},
		"internal/front/gateway/front.go": {Data: []byte("package gateway\nimport _ \"" + Module + "/internal/front/kyma\"")},
		"internal/controller/fronts.go":   {Data: []byte("package controller\nimport _ \"" + Module + "/internal/front/kyma\"")},
		"internal/status/package.go":      {Data: []byte("package status\nimport _ \"" + Module + "/internal/front/kyma/mesh\"")},
		"test/kyma/kyma_test.go":          {Data: []byte("package kyma\nimport _ \"" + Module + "/internal/front/kyma\"")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(Fronts(packages), "\n")
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "internal/front/gateway/front.go: uses the front kyma") || !strings.Contains(got, "internal/status/package.go: uses the front kyma") {
		t.Errorf("a front is used by its list and by tests of whole flows alone, got:\n%s", got)
	}
}

func TestReadTree_Unparsable(t *testing.T) {
	_, err := ReadTree(fstest.MapFS{"a/a.go": &fstest.MapFile{Data: []byte("packag a")}})
	if err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("ReadTree() = %v, want an error that names the file", err)
	}
}

func TestImports_ListedAndMissing(t *testing.T) {
	got := Imports([]Row{{Package: "gone"}}, nil)
	want := []string{"gone: the table of ARCHITECTURE.md lists the package, and there is none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a row outlives its package: -want +got\n%s", diff)
	}
}
