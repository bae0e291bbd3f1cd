// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// DeclaredIn checks that a contract has the conditions and reasons that a file of the API declares
// as constants, and no others. Those that are not written need not be in the contract.
func DeclaredIn(t *testing.T, c Contract, file string, unwritten ...string) {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	declared, known := map[string]bool{}, map[string]bool{}
	ast.Inspect(syntax, func(node ast.Node) bool {
		value, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, kind := range []string{"Condition", "Reason"} {
			if literal, ok := value.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(value.Names[0].Name, kind) {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				declared[kind+" "+text] = !slices.Contains(unwritten, text)
			}
		}
		return true
	})
	maps.DeleteFunc(declared, func(_ string, written bool) bool { return !written })
	for condition, reasons := range c {
		known["Condition "+condition] = true
		for reason := range reasons {
			known["Reason "+reason] = true
		}
	}
	if diff := cmp.Diff(declared, known); diff != "" {
		t.Errorf("(-declared in %s +in the contract):\n%s", file, diff)
	}
}
