// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want, +got:\n%s", path, diff)
	}
}

// text is what a function writes at a width.
func text(t *testing.T, width int, write func(p *output.Printer)) string {
	t.Helper()
	var out bytes.Buffer
	p := output.New(&out, width, false)
	write(p)
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	return out.String()
}

// history is the history of the fixture's package, with what differs.
func (f *fixture) history() view.History {
	f.t.Helper()
	r := newReader(nil, noSecrets)
	for i := range f.objs {
		held, err := content.Unpack(&f.objs[i])
		if err != nil {
			f.t.Fatal(err)
		}
		r.held[content.Reference{Name: f.objs[i].Name}] = view.StoredOf(held)
	}
	h := f.view.History()
	read, err := r.readEach(f.t.Context(), f.view.Revisions)
	if err != nil {
		f.t.Fatal(err)
	}
	h.CompareEach(f.view.Revisions, read)
	return h
}

// views are the texts that are compared for each fixture.
var views = map[string]func(f *fixture) string{
	"history": func(f *fixture) string {
		return text(f.t, 80, func(p *output.Printer) {
			view.WriteHistory(p, f.history(), false, fixtureNow)
		})
	},
	"tree": func(f *fixture) string {
		return text(f.t, 80, func(p *output.Printer) {
			p.Tree(view.TreeWriter{Now: fixtureNow}.Root(f.view.Tree(f.view.ShownRevisions(false))))
		})
	},
	"status": func(f *fixture) string {
		return text(f.t, 80, func(p *output.Printer) { view.WriteStatus(p, f.view.Status(), fixtureNow) })
	},
	"log": func(f *fixture) string {
		return strings.Join(view.Transitions(nil, f.view.Status()), "\n") + "\n"
	},
}

func TestViews(t *testing.T) {
	for name := range fixtures() {
		for command, render := range views {
			t.Run(name+"/"+command, func(t *testing.T) {
				golden(t, name+"."+command, render(fixtureNamed(t, name)))
			})
		}
	}
}

func TestViews_Get(t *testing.T) {
	names := slices.Sorted(maps.Keys(fixtures()))
	packages := make([]v1alpha1.Package, 0, len(names))
	for _, name := range names {
		packages = append(packages, *fixtureNamed(t, name).view.Package)
	}
	golden(t, "get", text(t, 80, func(p *output.Printer) { view.WritePackages(p, packages, false, fixtureNow) }))
	golden(t, "get_wide", text(t, 0, func(p *output.Printer) { view.WritePackages(p, packages, true, fixtureNow) }))
}

func TestViews_Wide(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	golden(t, "history_wide", text(t, 0, func(p *output.Printer) {
		view.WriteHistory(p, f.history(), true, fixtureNow)
	}))
	golden(t, "tree_wide", text(t, 0, func(p *output.Printer) {
		p.Tree(view.TreeWriter{Now: fixtureNow, Wide: true, Expand: true}.Root(f.view.Tree(f.view.ShownRevisions(true))))
	}))
}

func TestViews_Dot(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	golden(t, "tree_dot", text(t, 0, func(p *output.Printer) { view.WriteDot(p, f.view.Tree(f.view.ShownRevisions(false))) }))
}

// TestDotQuote: what stands in a cluster must not become part of the graph's language.
func TestDotQuote(t *testing.T) {
	if got, want := view.DotQuote("a\"];\\\nb"), `"a\"];\\\nb"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestViews_ArchivedRevision(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	golden(t, "tree_archived", text(t, 80, func(p *output.Printer) {
		p.Tree(view.TreeWriter{Now: fixtureNow, Single: true}.Root(f.view.Tree([]*v1alpha1.Revision{&f.view.Revisions[1]})))
	}))
}

// TestViews_Narrow: at 60 columns the history leaves columns out, and a phase has no bar.
func TestViews_Narrow(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	golden(t, "narrow", text(t, 60, func(p *output.Printer) {
		view.WriteStatus(p, f.view.Status(), fixtureNow)
		view.WriteHistory(p, f.history(), false, fixtureNow)
	}))
}

// TestViews_Width holds tables and screens to 80 columns. A word that is longer
// than the rest of a line, such as an image, may stand out.
func TestViews_Width(t *testing.T) {
	for name := range fixtures() {
		for _, command := range []string{"history", "status"} {
			for line := range strings.Lines(views[command](fixtureNamed(t, name))) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%s of %s has a line of %d columns: %s", command, name, n, line)
				}
			}
		}
	}
}
