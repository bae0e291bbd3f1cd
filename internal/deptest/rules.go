// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Imports compares the imports between packages of ours with the table.
func Imports(rows []Row, packages []Package) []string {
	var problems []string
	for _, p := range packages {
		row, found := rowFor(rows, p.Folder)
		if !found {
			problems = append(problems, fmt.Sprintf("%s: the package is missing in the table of ARCHITECTURE.md", p.Folder))
			continue
		}
		for _, file := range p.Files {
			allowed := slices.Concat(row.Imports, []string{p.Folder})
			if file.IsTest {
				allowed = append(allowed, row.TestImports...)
			}
			for _, imported := range file.Imports {
				folder, ours := strings.CutPrefix(imported, Module+"/")
				if ours && !allows(allowed, folder) {
					problems = append(problems, fmt.Sprintf("%s: imports %s, which the table of ARCHITECTURE.md does not allow for %s", file.Path, folder, row.Package))
				}
			}
		}
	}
	for _, row := range rows {
		if !slices.ContainsFunc(packages, func(p Package) bool { return row.covers(p.Folder) > 0 }) {
			problems = append(problems, fmt.Sprintf("%s: the table of ARCHITECTURE.md lists the package, and there is none", row.Package))
		}
	}
	return problems
}

func rowFor(rows []Row, folder string) (Row, bool) {
	var best Row
	for _, row := range rows {
		if row.covers(folder) > best.covers(folder) {
			best = row
		}
	}
	return best, best.Package != ""
}

// forbiddenNames say nothing of what a package is for, or, as manager, too much.
var forbiddenNames = []string{
	"util", "utils", "common", "helper", "helpers", "type", "types", "base", "manager", "misc", "shared", "lib", "core",
}

// Names finds packages with a name that says nothing, and names that are not
// those of their folder.
func Names(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			name := strings.TrimSuffix(file.Package, "_test")
			if name == "main" {
				continue
			}
			if slices.Contains(forbiddenNames, name) {
				problems = append(problems, fmt.Sprintf("%s: package %s is named for nothing; name it for its noun", file.Path, name))
			}
			if p.Folder != "." && name != path.Base(p.Folder) {
				problems = append(problems, fmt.Sprintf("%s: package %s stands in folder %s; give both one name", file.Path, name, p.Folder))
			}
		}
	}
	return problems
}

// Comments finds packages without a comment, with two, and those of several
// files whose comment does not stand in doc.go.
func Comments(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		var files, commented []string
		for _, file := range p.Files {
			if file.IsTest {
				continue
			}
			files = append(files, file.Path)
			if file.HasComment {
				commented = append(commented, file.Path)
			}
		}
		doc := path.Join(p.Folder, "doc.go")
		switch {
		case len(files) == 0: // only tests
		case len(commented) == 0:
			problems = append(problems, fmt.Sprintf("%s: no file holds a package comment; write %s, from which a newcomer can start", p.Folder, doc))
		case len(commented) > 1:
			problems = append(problems, fmt.Sprintf("%s: %s hold a package comment each; keep one", p.Folder, strings.Join(commented, " and ")))
		case len(files) > 1 && commented[0] != doc && path.Base(commented[0]) != "main.go":
			problems = append(problems, fmt.Sprintf("%s: holds the package comment; it belongs into %s", commented[0], doc))
		}
	}
	return problems
}
