// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"slices"
)

// clockless are the packages that are given the time and never ask for it, so that
// the same question always has the same answer.
var clockless = []string{
	"api/...", "revisions/probes/...", "revisions", "internal/chart", "internal/content/...", "internal/history", "internal/status",
}

// asking are the functions of package time that ask the clock.
var asking = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// Clocks finds where the clock is asked in a package that is given the time.
func Clocks(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			if file.IsTest || !allows(clockless, p.Folder) && !decides(file) || !slices.Contains(file.Imports, "time") {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && asksClock(call, asking...) {
					problems = append(problems, fmt.Sprintf("%s: asks the clock; the time is an argument in this package", file.tokens.Position(call.Pos())))
				}
				return true
			})
		}
	}
	return problems
}

// asksClock says whether a call is of one of the functions of package time.
func asksClock(call *ast.CallExpr, functions ...string) bool {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(functions, function.Sel.Name) {
		return false
	}
	of, ok := function.X.(*ast.Ident)
	return ok && of.Name == "time"
}
