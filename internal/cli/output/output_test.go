// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestClean(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"Plain":     {reason: "Ordinary text, also beyond ASCII, stays.", in: "été ✔ 世界", want: "été ✔ 世界"},
		"Escape":    {reason: "An escape sequence would recolour or move the cursor.", in: "a\x1b[31mred", want: `a\u001b[31mred`},
		"Title":     {reason: "An OSC sequence would set the window's title.", in: "\x1b]0;owned\x07", want: `\u001b]0;owned\u0007`},
		"C1":        {reason: "U+009B alone begins a control sequence.", in: "\u009b2J", want: `\u009b2J`},
		"Overwrite": {reason: "A carriage return or backspace hides what stands before.", in: "bad\rok\b", want: `bad\u000dok\u0008`},
		"Bidi":      {reason: "A right-to-left override changes the order of what is read.", in: "a\u202eb", want: `a\u202eb`},
		"Invisible": {reason: "Two names must not look alike.", in: "is\u200btio", want: `is\u200btio`},
		"Lines":     {reason: "A message must not make up lines of its own.", in: "one\ntwo\tthree", want: "one two three"},
		"Beyond":    {reason: "Format characters beyond U+FFFF have two halves in JSON.", in: "\U000e0041", want: `\udb40\udc41`},
		"Broken":    {reason: "Bytes that are no UTF-8 may be C1 to a terminal.", in: "a\x9bb", want: "a\ufffdb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Clean(tc.in)); diff != "" {
				t.Errorf("%s\nClean(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

// hostile is text that every printer must make safe.
const hostile = "x\x1b[2J\u009b31m\u202e\r\ny"

func TestPrinter_NeutralisesEverything(t *testing.T) {
	cases := map[string]func(p *Printer){
		"Line":     func(p *Printer) { p.Line(Span{Text: hostile, Style: Bad}) },
		"Labelled": func(p *Printer) { p.Labelled(Span{Text: hostile}, 12, Span{Text: hostile, Style: Bad}) },
		"Wrapped":  func(p *Printer) { p.Wrapped("  ", Bad, hostile) },
		"Table": func(p *Printer) {
			p.Table([]Column{{Head: "A"}, {Head: "B", Flexible: true}}, [][]Cell{{{Text: hostile}, {Text: hostile, Short: hostile}}})
		},
		"Tree": func(p *Printer) {
			p.Tree(Node{Line: Line{{Text: hostile}}, Below: []Span{{Text: hostile}}, Children: []Node{{Line: Line{{Text: hostile}}}}})
		},
		"JSON":     func(p *Printer) { p.JSON(map[string]string{hostile: hostile}) },
		"JSONLine": func(p *Printer) { p.JSONLine(map[string]string{hostile: hostile}) },
		"YAML":     func(p *Printer) { p.YAML(map[string]string{hostile: hostile}) },
	}
	for name, write := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := New(&out, 80, false)
			write(p)
			if p.Err() != nil {
				t.Fatal(p.Err())
			}
			for _, r := range strings.ReplaceAll(out.String(), "\n", "") {
				if isHarmful(r) {
					t.Errorf("%U reaches the terminal in %q", r, out.String())
				}
			}
		})
	}
}

func TestDocuments_KeepTheirMeaning(t *testing.T) {
	in := map[string]string{"key" + hostile: "value" + hostile, "html": "a<b & c"}
	decode := map[string]func([]byte, any) error{
		"JSON":     json.Unmarshal,
		"JSONLine": json.Unmarshal,
		"YAML":     func(b []byte, v any) error { return yaml.Unmarshal(b, v) },
	}
	for name, unmarshal := range decode {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := New(&out, 80, false)
			map[string]func(any){"JSON": p.JSON, "JSONLine": p.JSONLine, "YAML": p.YAML}[name](in)
			var got map[string]string
			if err := unmarshal([]byte(out.String()), &got); err != nil {
				t.Fatalf("%v in %q", err, out.String())
			}
			if diff := cmp.Diff(in, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestPrinter_Table(t *testing.T) {
	columns := []Column{{Head: "NAME"}, {Head: "CURRENT", Short: "CUR"}, {Head: "REASON", Flexible: true}}
	row := func(name, current, reason string) []Cell {
		return []Cell{{Text: name}, {Text: current}, {Text: reason}}
	}
	cases := map[string]struct {
		reason string
		width  int
		// optional lets the last column be left out, and writes a further row.
		optional bool
		rows     [][]Cell
		want     string
	}{
		"Roomy": {
			reason: "With room there are three spaces and full headings; nothing is shown as a hyphen.",
			width:  40,
			rows:   [][]Cell{row("a", "1", ""), row("bb", "", "why not")},
			want: "" +
				"NAME   CURRENT   REASON\n" +
				"a      1         -\n" +
				"bb     -         why not\n",
		},
		"Narrow": {
			reason: "Space goes before words do.",
			width:  30,
			rows:   [][]Cell{row("a-longer-name", "1", "why not")},
			want: "" +
				"NAME           CUR  REASON\n" +
				"a-longer-name  1    why not\n",
		},
		"Cut": {
			reason: "A flexible column is cut, a name never.",
			width:  40,
			rows:   [][]Cell{row("a-longer-name", "1", "because of everything that happened")},
			want: "" +
				"NAME           CUR  REASON\n" +
				"a-longer-name  1    because of everythi…\n",
		},
		"TooWide": {
			reason: "What does not fit at all is wide rather than wrong.",
			width:  10,
			rows:   [][]Cell{row("a-longer-name", "1", "because of everything")},
			want: "" +
				"NAME          CUR REASON\n" +
				"a-longer-name 1   because of…\n",
		},
		"OptionalLast": {
			reason: "An optional column goes before the table is too wide.",
			width:  25, optional: true,
			rows: [][]Cell{row("a-longer-name", "1", "because of everything")},
			want: "" +
				"NAME            CURRENT\n" +
				"a-longer-name   1\n" +
				"more            2\n",
		},
		"Unlimited": {
			reason: "Width 0 is no limit.",
			width:  0,
			rows:   [][]Cell{row("a-longer-name", "1", "because of everything that happened, and of a few things that did not")},
			want: "" +
				"NAME            CURRENT   REASON\n" +
				"a-longer-name   1         because of everything that happened, and of a few things that did not\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			columns := slices.Clone(columns)
			columns[2].Optional = tc.optional
			p := New(&out, tc.width, false)
			p.Table(columns, tc.rows)
			if tc.optional {
				p.MoreRows([][]Cell{row("more", "2", "why not")})
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPrinter_ASCII(t *testing.T) {
	var out strings.Builder
	p := New(&out, 20, false)
	p.ASCII()
	p.Tree(Node{Line: Line{{Text: "✔ a → b"}}, Children: []Node{{Line: Line{{Text: "◌ ██░ 1…"}}}, {Line: Line{{Text: "✘ c"}}}}})
	p.Table([]Column{{Head: "A"}, {Head: "B", Flexible: true}}, [][]Cell{{{Text: "x"}, {Text: "something that is cut"}}})
	p.JSON("✔")
	want := "+ a -> b\n|- ~ ##. 1~\n`- x c\nA B\nx something that is~\n\"✔\"\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestIsASCII(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   bool
	}{
		"None":      {reason: "Containers set no locale, and most terminals have UTF-8."},
		"C":         {reason: "C has ASCII.", env: map[string]string{"LANG": "C"}, want: true},
		"UTF8":      {reason: "The character set is named.", env: map[string]string{"LANG": "en_US.UTF-8"}},
		"OtherCase": {reason: "In more than one spelling.", env: map[string]string{"LANG": "C.utf8"}},
		"Latin":     {reason: "Another set is none of ours.", env: map[string]string{"LANG": "de_DE.ISO-8859-1"}, want: true},
		"All":       {reason: "LC_ALL wins.", env: map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, want: true},
		"Type":      {reason: "LC_CTYPE is next.", env: map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsASCII(func(name string) string { return tc.env[name] }); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}

func TestPrinter_Tree(t *testing.T) {
	var out strings.Builder
	New(&out, 30, false).Tree(Node{
		Line: Line{{Text: "root"}},
		Children: []Node{
			{
				Line:     Line{{Text: "first"}},
				Below:    []Span{{Text: "said of the first one, at some length"}},
				Children: []Node{{Line: Line{{Text: "leaf"}}, Below: []Span{{Text: "said of the leaf"}}}},
			},
			{Line: Line{{Text: "second"}}},
		},
	})
	want := "" +
		"root\n" +
		"├─ first\n" +
		"│  │  said of the first one,\n" +
		"│  │  at some length\n" +
		"│  └─ leaf\n" +
		"│        said of the leaf\n" +
		"└─ second\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestPrinter_Labelled(t *testing.T) {
	var out strings.Builder
	New(&out, 32, false).Labelled(Span{Text: "  runs"}, 10, Span{Text: "revision 2, which is available"})
	want := "" +
		"  runs    revision 2, which is\n" +
		"          available\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestPrinter_Color(t *testing.T) {
	var out strings.Builder
	New(&out, 80, true).Line(Span{Text: "done", Style: Good}, Span{Text: " and plain"})
	if want := "\x1b[32mdone\x1b[0m and plain\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestPrinter_KeepsFirstError(t *testing.T) {
	want := errors.New("no space left")
	p := New(brokenWriter{want}, 80, false)
	p.Line(Span{Text: "a"})
	p.JSON(func() {})
	if !errors.Is(p.Err(), want) {
		t.Errorf("got %v, want %v", p.Err(), want)
	}
}

func TestColorMode(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i+1 < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	var out strings.Builder
	cases := map[string]struct {
		mode ColorMode
		env  func(string) string
		want bool
	}{
		"AutoOffTerminal": {mode: ColorAuto, env: env(), want: false},
		"Always":          {mode: ColorAlways, env: env("NO_COLOR", "1"), want: true},
		"Never":           {mode: ColorNever, env: env(), want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.mode.Enabled(&out, tc.env); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
	var m ColorMode
	if err := m.Set("sometimes"); err == nil {
		t.Error("an unknown mode must be refused")
	}
}

func TestScreen_TakesBackWhatItDrew(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out)
	if err := s.Draw("one\n\x1b[31mtwo that is wider\x1b[0m\n", 10, 24); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := s.Draw("1\n2\n3\n4\n", 10, 4); err != nil {
		t.Fatal(err)
	}
	// One row for the first line, two for the second; then what fits four rows
	// with the one that the cursor stands in.
	if want := "\x1b[3A\r\x1b[J1\n2\n3\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestScreen_Release(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out)
	if err := s.Draw("one\n", 10, 24); err != nil {
		t.Fatal(err)
	}
	s.Release()
	out.Reset()
	if err := s.Draw("two\n", 10, 24); err != nil {
		t.Fatal(err)
	}
	if want := "\r\x1b[Jtwo\n"; out.String() != want {
		t.Errorf("got %q, want %q: what was released is not taken back", out.String(), want)
	}
}
