// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// writerFiles may change a cluster, each what its entry says, and so may those
// of acting. What the preflight and a plan send
// looks like writes and changes nothing: dry runs, and reviews of rights.
var writerFiles = map[string]string{
	"revisions/apply.go":                 "objects of packages",
	"revisions/delete.go":                "objects of packages",
	"internal/check/preflight/ask.go":    "nothing: it asks",
	"internal/cli/cmd/install.go":        "what `strata up` installs in the local Kubernetes",
	"internal/cli/cmd/write.go":          "at a user's request: Packages, Revisions, and who owns an object that is adopted",
	"internal/content/keep.go":           "slices and Secrets with manifests: labels of the package",
	"internal/content/key.go":            "the Secret with the key of digests",
	"internal/content/release.go":        "owner references of slices and Secrets",
	"internal/check/plan/trial.go":       "nothing: it asks",
	"internal/check/plan/dryrun.go":      "nothing: it asks",
	"internal/controller/fence/fence.go": "the lease",
	"internal/controller/handover.go":    "Packages and resources of a front that are handed over",
	"internal/controller/loop/loop.go":   "the status of what a loop is about",
	"internal/packages/decide.go":        "Revisions",
	"internal/packages/observe.go":       "Packages and Revisions",
	"internal/packages/rollback.go":      "Revisions",
	"internal/packages/retire.go":        "Revisions",
	"internal/packages/teardown.go":      "the finalizer of a Package",
	"internal/helmimport/compare.go":     "nothing: it asks",
	"internal/helmimport/importer.go":    "a Package with its first Revision, and the Secrets of a release",
	"internal/helmimport/prune.go":       "what a later version of a release has left out",
	"internal/helmimport/retire.go":      "the Secrets of a release, and marks of Helm",
	"internal/helmimport/takeover.go":    "who owns the fields of an object of a release",
	"internal/front/packagesettings.go":  "fields of Packages, labels and annotations of Revisions",
	"internal/front/publish.go":          "Packages and Revisions",
	"internal/front/resources.go":        "finalizers and annotations of a front's resources",
	"internal/front/setup.go":            "nothing: it hands events on",
}

// writerPackages may change a cluster in every file: the local Kubernetes and the tests have
// clusters of their own.
var writerPackages = []string{"internal/localplane/...", "internal/status/statustest", "revisions/revisionstest", "test/..."}

// writing are the methods of controller-runtime's and client-go's clients that
// send something other than a read.
var writing = []string{
	"Apply", "ApplyScale", "ApplyStatus", "Create", "CreateToken", "Delete", "DeleteAllOf", "DeleteCollection",
	"Evict", "EvictV1", "Patch", "Update", "UpdateScale", "UpdateStatus",
}

// Writers finds calls of a client's writing methods where nothing is to be
// written, and listed files that write nothing. A call counts when its first argument is a
// context: nothing else looks like that here. What the file imports does not matter, as it
// can have its client from another file.
func Writers(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		if allows(writerPackages, p.Folder) {
			continue
		}
		for _, file := range p.Files {
			if file.IsTest {
				continue
			}
			writes := writesOf(file)
			switch listed := cmp.Or(writerFiles[file.Path], acting[file.Path]) != ""; {
			case listed && len(writes) == 0:
				problems = append(problems, file.Path+": writes nothing, and internal/deptest lists what it writes")
			case !listed:
				for _, at := range writes {
					problems = append(problems, fmt.Sprintf("%s: writes to the cluster; only the files and packages that internal/deptest lists do", at))
				}
			}
		}
	}
	return problems
}

// writesOf is where a file writes.
func writesOf(file File) []token.Position {
	var at []token.Position
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && isWrite(call) {
			at = append(at, file.tokens.Position(call.Pos()))
		}
		return true
	})
	return at
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
