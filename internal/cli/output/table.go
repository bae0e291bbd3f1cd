// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Column is one column of a table.
type Column struct {
	// Head is the heading.
	Head string
	// Short is the heading when the table would be too wide, empty for Head.
	Short string
	// Flexible columns are cut when the table would be too wide.
	Flexible bool
	// Optional columns are left out when the table would be too wide all the same.
	Optional bool
}

// Cell is one field of a table.
type Cell struct {
	// Text is what it says; nothing is shown as "-".
	Text string
	// Short says it when the table would be too wide, empty for Text.
	Short string
	// Style is how it is coloured.
	Style Style
}

// A flexible column is cut to minFlexible, and to leastFlexible when nothing else helps.
const (
	minFlexible   = 18
	leastFlexible = 11
)

// Table writes rows under their headings. A table that is wider than the
// printer's width, on a terminal, is narrowed in steps: less space between the columns, short
// headings and cells, flexible columns cut, optional columns left out from the right. What is
// too wide then stays so: a name is never cut.
func (p *Printer) Table(columns []Column, rows [][]Cell) {
	var left []int
	rows = slices.Clone(rows)
	l := measured(columns, rows, p.tables)
	for at := lastOptional(columns); !l.fits && at >= 0; at = lastOptional(columns) {
		left = append(left, at)
		columns = without(columns, at)
		for i := range rows {
			rows[i] = without(rows[i], at)
		}
		l = measured(columns, rows, p.tables)
	}
	heads := make([]Cell, len(columns))
	for i, c := range columns {
		heads[i] = Cell{Text: c.Head, Short: c.Short, Style: Bold}
	}
	p.row(l, heads)
	p.last = l
	p.MoreRows(rows)
	p.last.left = left
}

// measured is the first layout that keeps within a limit, else the narrowest.
func measured(columns []Column, rows [][]Cell, limit int) layout {
	var l layout
	for _, l = range []layout{{gap: 3}, {gap: 2}, {gap: 2, short: true}, {gap: 1, short: true}, {gap: 1, short: true, tight: true}} {
		l.measure(columns, rows, limit)
		if l.fits {
			break
		}
	}
	return l
}

// lastOptional is the index of the last optional column, -1 for none.
func lastOptional(columns []Column) int {
	for i, c := range slices.Backward(columns) {
		if c.Optional {
			return i
		}
	}
	return -1
}

func without[T any](list []T, at int) []T { return slices.Delete(slices.Clone(list), at, at+1) }

// MoreRows writes further rows of the table that was written last, below its columns. A
// column becomes wider where a cell needs it.
func (p *Printer) MoreRows(rows [][]Cell) {
	for _, row := range rows {
		for _, at := range p.last.left {
			row = without(row, at)
		}
		for i, cell := range row {
			if n := utf8.RuneCountInString(p.last.text(cell)); !p.last.flexible[i] {
				p.last.widths[i] = max(p.last.widths[i], n)
			}
		}
		p.row(p.last, row)
	}
}

func (p *Printer) row(l layout, cells []Cell) {
	var b strings.Builder
	for i, c := range cells {
		text := cut(l.text(c), l.widths[i])
		b.WriteString(p.paint(text, c.Style))
		b.WriteString(strings.Repeat(" ", l.widths[i]-utf8.RuneCountInString(text)+l.gap))
	}
	p.write(strings.TrimRight(b.String(), " ") + "\n")
}

type layout struct {
	gap    int
	short  bool
	tight  bool
	widths []int
	fits   bool
	// flexible are the columns whose cells may be cut.
	flexible []bool
	// left are the columns that were left out, each counted without those before it.
	left []int
}

// measure finds the width of each column, and whether the table keeps within the
// limit.
func (l *layout) measure(columns []Column, rows [][]Cell, limit int) {
	l.widths, l.flexible = make([]int, len(columns)), make([]bool, len(columns))
	flexible := minFlexible
	if l.tight {
		flexible = leastFlexible
	}
	total, least := l.gap*(len(columns)-1), 0
	for i, c := range columns {
		w := utf8.RuneCountInString(l.text(Cell{Text: c.Head, Short: c.Short}))
		for _, row := range rows {
			w = max(w, utf8.RuneCountInString(l.text(row[i])))
		}
		l.widths[i], l.flexible[i] = w, c.Flexible
		total += w
		if c.Flexible {
			least += w - min(w, flexible)
		}
	}
	l.fits = limit == 0 || total-least <= limit
	if limit == 0 {
		return
	}
	for i := len(columns) - 1; i >= 0 && total > limit; i-- {
		if columns[i].Flexible {
			w := max(min(l.widths[i], flexible), l.widths[i]-(total-limit))
			total -= l.widths[i] - w
			l.widths[i] = w
		}
	}
}

func (l *layout) text(c Cell) string {
	s := c.Text
	if l.short && c.Short != "" {
		s = c.Short
	}
	if s = Clean(s); s == "" {
		return "-"
	}
	return s
}

// cut shortens a text to a width, with an ellipsis for what is left out.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:width-1]), " ") + "…"
}
