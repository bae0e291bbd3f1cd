// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"slices"
)

// polling is the one file that sleeps. Where the clock is that of a bubble of testing/synctest
// sleeping costs no time.
const polling = "internal/localplane/planetest/planetest.go"

// Sleeps finds where a program or a test sleeps instead of waiting for a condition.
func Sleeps(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			if file.Path == polling || !slices.Contains(file.Imports, "time") || slices.Contains(file.Imports, "testing/synctest") {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && asksClock(call, "Sleep") {
					problems = append(problems, fmt.Sprintf("%s: sleeps; wait for a condition, in a test with planetest.Eventually or Stays", file.tokens.Position(call.Pos())))
				}
				return true
			})
		}
	}
	return problems
}

// longestTest is how many lines a function in a test may have. A table that makes it longer
// stands beside it.
const longestTest = 100

// LongTests finds functions in tests that have too many lines.
func LongTests(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			for _, decl := range file.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if !ok || !file.IsTest {
					continue
				}
				at := file.tokens.Position(function.Pos())
				if lines := file.tokens.Position(function.End()).Line - at.Line + 1; lines > longestTest {
					problems = append(problems, fmt.Sprintf("%s: %s has %d lines, more than %d: move its table beside it, or split it by subject", at, function.Name.Name, lines, longestTest))
				}
			}
		}
	}
	return problems
}
