// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Everything in a row's list allows every package of ours.
const Everything = "everything"

// Row is what the table says about one package, or, when its name ends in
// "/...", about all packages below a folder.
type Row struct {
	// Package is a folder, relative to the repository's root.
	Package string
	// Imports are the packages of ours that it may import, as folders.
	Imports []string
	// TestImports are those that its tests may import besides.
	TestImports []string
}

// header is the first line of the table; the columns after these are for people.
var header = []string{"package", "may import", "its tests also"}

var code = regexp.MustCompile("`([^`]+)`")

// ReadTable reads the import table out of a Markdown file. It returns an error
// when there is none, or a row that it cannot read.
func ReadTable(markdown io.Reader) ([]Row, error) {
	var rows []Row
	inTable := false
	lines := bufio.NewScanner(markdown)
	for number := 1; lines.Scan(); number++ {
		cells := cellsOf(lines.Text())
		switch {
		case !inTable:
			inTable = isHeader(cells)
		case cells == nil:
			return rows, nil
		case strings.Trim(cells[0], ":- ") == "": // the rule below the header
		default:
			row, err := rowOf(cells)
			if err != nil {
				return nil, fmt.Errorf("reading the import table: line %d: %w", number, err)
			}
			rows = append(rows, row)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the import table: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("reading the import table: there is no table with the columns %s", strings.Join(header, ", "))
	}
	return rows, nil
}

// cellsOf splits a line of a table; nil is any other line.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func isHeader(cells []string) bool {
	if len(cells) < len(header) {
		return false
	}
	for i, name := range header {
		if !strings.EqualFold(cells[i], name) {
			return false
		}
	}
	return true
}

func rowOf(cells []string) (Row, error) {
	if len(cells) < len(header) {
		return Row{}, fmt.Errorf("%d cells, want at least %d", len(cells), len(header))
	}
	names := namesIn(cells[0])
	if len(names) != 1 {
		return Row{}, fmt.Errorf("the first cell %q has to hold one package in backticks", cells[0])
	}
	row := Row{Package: names[0], Imports: namesIn(cells[1]), TestImports: namesIn(cells[2])}
	if cells[1] == Everything {
		row.Imports = []string{Everything}
	}
	return row, nil
}

func namesIn(cell string) []string {
	var names []string
	for _, match := range code.FindAllStringSubmatch(cell, -1) {
		names = append(names, match[1])
	}
	return names
}

// covers says whether the row is about a package, and how exactly: 0 is not at
// all, and of two rows the higher one counts.
func (r Row) covers(folder string) int {
	if r.Package == folder {
		return len(folder) + 2 // more than "folder/...", which covers it, too
	}
	prefix, found := strings.CutSuffix(r.Package, "...")
	if found && strings.HasPrefix(folder+"/", prefix) {
		return len(prefix)
	}
	return 0
}

// allows says whether one of the names is the package or a pattern for it.
func allows(names []string, folder string) bool {
	for _, name := range names {
		if name == Everything || (Row{Package: name}).covers(folder) > 0 {
			return true
		}
	}
	return false
}
