// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"go/token"
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
			for _, at := range sleeps(file.syntax) {
				problems = append(problems, fmt.Sprintf("%s: sleeps; wait for a condition, in a test with planetest.Eventually or Stays", file.tokens.Position(at)))
			}
		}
	}
	return problems
}

// sleeps are the calls of time.Sleep, and the receives from time.After that nothing else can end:
// as a case of a select it is a time limit.
func sleeps(syntax *ast.File) (at []token.Pos) {
	limits := map[ast.Stmt]bool{}
	ast.Inspect(syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CommClause:
			limits[n.Comm] = true
		case *ast.ExprStmt:
			receive, ok := n.X.(*ast.UnaryExpr)
			if !ok || limits[n] {
				return true
			}
			if call, ok := receive.X.(*ast.CallExpr); ok && asksClock(call, "After") {
				at = append(at, n.Pos())
			}
		case *ast.CallExpr:
			if asksClock(n, "Sleep") {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
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
