// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"slices"
)

// These may change a cluster: the engine in two files, the loops, what they store
// content with, and the command line at a person's request, with what imports Helm
// releases. The local Kubernetes has a cluster of its own, and so has who tests the
// engine. What the preflight
// sends looks like writes and changes nothing: dry runs, and reviews of rights.
var (
	writerFiles    = []string{"revisions/apply.go", "revisions/delete.go", "internal/preflight/ask.go", "internal/plan/trial.go", "internal/plan/dryrun.go"}
	writerPackages = []string{"internal/controller/...", "internal/front/...", "internal/store", "internal/helmimport", "internal/cli/...", "internal/localplane/...", "revisions/revisionstest", "test/..."}
)

// writing are the methods of controller-runtime's and client-go's clients that
// send something other than a read.
var writing = []string{
	"Apply", "ApplyScale", "ApplyStatus", "Create", "CreateToken", "Delete", "DeleteAllOf", "DeleteCollection",
	"Evict", "EvictV1", "Patch", "Update", "UpdateScale", "UpdateStatus",
}

// Writers finds calls of a client's writing methods where nothing is to be
// written. A call counts when its first argument is a context and the file
// imports a client library: nothing else looks like that here.
func Writers(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		if allows(writerPackages, p.Folder) {
			continue
		}
		for _, file := range p.Files {
			if file.IsTest || slices.Contains(writerFiles, file.Path) || !importsClient(file) {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && isWrite(call) {
					problems = append(problems, fmt.Sprintf("%s: writes to the cluster; only %v and %v do", file.tokens.Position(call.Pos()), writerFiles, writerPackages))
				}
				return true
			})
		}
	}
	return problems
}

func importsClient(file File) bool {
	return slices.ContainsFunc(file.Imports, func(imported string) bool {
		return below(imported, []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"})
	}) || slices.ContainsFunc(file.Imports, func(imported string) bool { return imported == Module+"/revisions" })
}

func isWrite(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && len(call.Args) > 1 && slices.Contains(writing, method.Sel.Name) && isContext(call.Args[0])
}

func isContext(argument ast.Expr) bool {
	switch e := argument.(type) {
	case *ast.Ident:
		return e.Name == "ctx"
	case *ast.SelectorExpr:
		return e.Sel.Name == "ctx"
	case *ast.CallExpr:
		method, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		receiver, ok := method.X.(*ast.Ident)
		return method.Sel.Name == "Context" || ok && receiver.Name == "context"
	}
	return false
}
