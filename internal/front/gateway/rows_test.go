// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/front/gateway"
)

// TestRows: every reason in the code is in the reference.
func TestRows(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "ingress/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			if !isLiteral {
				t.Fatalf("%s is no literal", spec.Names[0].Name)
			}
			reason, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, reason)
		}
		return true
	})
	var got []string
	for _, row := range gateway.Rows() {
		got = append(got, row.Reason)
		if row.When == "" || row.Message == "" || (row.Remedy == "") != (row.Status == "True") {
			t.Errorf("%s: when %q, message %q, remedy %q; what is not True has a remedy", row.Reason, row.When, row.Message, row.Remedy)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("reasons in conditions.go and in the reference (-code +reference):\n%s", diff)
	}
}
