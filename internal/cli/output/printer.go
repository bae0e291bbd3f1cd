// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"
	"strings"
	"unicode/utf8"
)

// DefaultWidth is how many columns are used where there is no terminal to ask.
const DefaultWidth = 80

// Style is what a text means to its reader. Colour follows from it, and never
// carries a meaning alone: the words say the same.
type Style int

// The styles.
const (
	Plain Style = iota
	Bold
	Faint
	// Good is for what is done and works.
	Good
	// Busy is for what is under way.
	Busy
	// Bad is for what has failed, or blocks the rest.
	Bad
)

var sgr = map[Style]string{Bold: "1", Faint: "2", Good: "32", Busy: "33", Bad: "31"}

// Span is a piece of text with one style.
type Span struct {
	Text  string
	Style Style
}

// Line is what stands on one line.
type Line []Span

// Printer writes to one stream. The first error of a write is kept; what comes
// after it is dropped.
type Printer struct {
	out   io.Writer
	width int
	// tables is the width for tables.
	tables int
	color  bool
	ascii  bool
	// last is the layout of the table that was written last.
	last layout
	err  error
}

// New is a Printer that keeps within width columns where it can, 0 for no
// limit, and uses colour if asked to.
func New(out io.Writer, width int, color bool) *Printer {
	return &Printer{out: out, width: width, tables: width, color: color}
}

// WholeTables lets tables be as wide as they are: what another program reads has the
// same headings whatever the cells hold, and nothing of them is cut.
func (p *Printer) WholeTables() { p.tables = 0 }

// ASCII writes the marks and lines of a screen in ASCII. Documents stay as they are.
func (p *Printer) ASCII() { p.ascii = true }

// Err is the first error of a write or an encoding.
func (p *Printer) Err() error { return p.err }

// Fits says whether spans keep within the width as one line.
func (p *Printer) Fits(spans []Span) bool {
	n := 0
	for _, s := range spans {
		n += utf8.RuneCountInString(Clean(s.Text))
	}
	return p.width == 0 || n <= p.width
}

// Line writes spans as one line.
func (p *Printer) Line(spans ...Span) {
	p.write(strings.TrimRight(p.render(spans), " ") + "\n")
}

// Wrapped writes a text with the same prefix before each of its lines, breaking
// it between words to keep within the width.
func (p *Printer) Wrapped(prefix string, style Style, text string) {
	for _, line := range p.wrap(utf8.RuneCountInString(prefix), text) {
		p.Line(Span{Text: prefix}, Span{Text: line, Style: style})
	}
}

// Labelled writes a label and a text beside it, wrapped so that the text keeps
// its own column.
func (p *Printer) Labelled(label Span, column int, text Span) {
	for i, line := range p.wrap(column, text.Text) {
		if i > 0 {
			label.Text = ""
		}
		gap := strings.Repeat(" ", max(1, column-utf8.RuneCountInString(label.Text)))
		p.Line(label, Span{Text: gap}, Span{Text: line, Style: text.Style})
	}
}

// wrap breaks a text into lines that leave room for an indentation.
func (p *Printer) wrap(indent int, text string) []string {
	if p.width == 0 {
		return []string{Clean(text)}
	}
	return wrapWords(text, max(p.width-indent, 20))
}

// wrapWords breaks a text between words. A word that is longer than the width
// stands on a line of its own, whole, so that it can be searched and copied.
func wrapWords(text string, width int) []string {
	var lines []string
	line, size := "", 0
	for word := range strings.FieldsSeq(Clean(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case size == 0:
			line, size = word, n
		case size+1+n <= width:
			line, size = line+" "+word, size+1+n
		default:
			lines, line, size = append(lines, line), word, n
		}
	}
	return append(lines, line)
}

func (p *Printer) render(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(p.paint(Clean(s.Text), s.Style))
	}
	return b.String()
}

// inASCII spells the characters that screens are drawn with. Each but the last stays one
// character, so that columns stay columns.
var inASCII = strings.NewReplacer("✔", "+", "◌", "~", "✘", "x", "·", ".", "±", "*", "…", "~", "█", "#", "░", ".", "├─", "|-", "└─", "`-", "│", "|", "→", "->")

// paint adds colour to a text that is clean already.
func (p *Printer) paint(clean string, style Style) string {
	if p.ascii {
		clean = inASCII.Replace(clean)
	}
	code := sgr[style]
	if !p.color || code == "" || clean == "" {
		return clean
	}
	return "\x1b[" + code + "m" + clean + "\x1b[0m"
}

func (p *Printer) write(s string) {
	if p.err != nil {
		return
	}
	_, p.err = io.WriteString(p.out, s)
}

func (p *Printer) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
