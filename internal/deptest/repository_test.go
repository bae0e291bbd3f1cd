// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// root is the repository's root.
var root = filepath.Join("..", "..")

// mostRows is how many rows the import table may have.
const mostRows = 26

// TestRepository holds this repository to all rules.
func TestRepository(t *testing.T) {
	architecture, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ReadTable(bytes.NewReader(architecture))
	if err != nil {
		t.Fatal(err)
	}
	packages, err := ReadTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) > mostRows {
		t.Errorf("the import table has %d rows, and may have %d: a table that nobody reads keeps nothing in order", len(rows), mostRows)
	}
	if len(packages) < 20 {
		t.Fatalf("%s holds only %d packages: is it the repository's root?", root, len(packages))
	}
	checks := map[string]func() []string{
		"Imports":   func() []string { return Imports(rows, packages) },
		"Names":     func() []string { return Names(packages) },
		"Comments":  func() []string { return Comments(packages) },
		"Libraries": func() []string { return Libraries(packages) },
		"Writers":   func() []string { return Writers(packages) },
		"Clocks":    func() []string { return Clocks(packages) },
		"Words":     func() []string { return Words(packages) },
		"Sleeps":    func() []string { return Sleeps(packages) },
		"LongTests": func() []string { return LongTests(packages) },
		"Fronts":    func() []string { return Fronts(packages) },
		"Listed": func() []string {
			return missing(slices.Concat([]string{list, polling}, slices.Sorted(maps.Keys(acting)), slices.Sorted(maps.Keys(writerFiles))))
		},
		"Prose": func() []string {
			problems, err := Prose(os.DirFS(root))
			if err != nil {
				t.Fatal(err)
			}
			return problems
		},
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			for _, problem := range check() {
				t.Error(problem)
			}
		})
	}
}

// missing are the listed files that are not there any more.
func missing(files []string) []string {
	var problems []string
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			problems = append(problems, fmt.Sprintf("%s: internal/deptest lists the file, and there is none: %v", file, err))
		}
	}
	return problems
}
