// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"slices"
)

// writerFiles may change a cluster, each what its entry says. What the preflight and a plan send
// looks like writes and changes nothing: dry runs, and reviews of rights.
var writerFiles = map[string]string{
	"revisions/apply.go":                          "objects of packages",
	"revisions/delete.go":                         "objects of packages",
	"internal/check/preflight/ask.go":             "nothing: it asks",
	"internal/content/keep.go":                    "slices and Secrets with manifests: labels of the package",
	"internal/content/key.go":                     "the Secret with the key of digests",
	"internal/content/release.go":                 "owner references of slices and Secrets",
	"internal/check/plan/trial.go":                "nothing: it asks",
	"internal/check/plan/dryrun.go":               "nothing: it asks",
	"internal/controller/fence/fence.go":          "the lease",
	"internal/controller/handover.go":             "Packages and GatewayClasses that are handed over",
	"internal/controller/loop/loop.go":            "the status of what a loop is about",
	"internal/controller/packages/approval.go":    "Revisions",
	"internal/controller/packages/dismiss.go":     "Revisions",
	"internal/controller/packages/line.go":        "Packages and Revisions",
	"internal/controller/packages/retire.go":      "Revisions",
	"internal/controller/packages/teardown.go":    "the finalizer of a Package",
	"internal/front/publish.go":                   "Packages and Revisions",
	"internal/front/resources.go":                 "finalizers and annotations of a front's resources",
	"internal/front/setup.go":                     "nothing: it hands events on",
	"internal/front/gateway/observe.go":           "finalizers of DNSRecords, and those that the former operator has left",
	"internal/front/gatewayclass/handover.go":     "finalizer and conditions of GatewayClasses",
	"internal/front/gatewayclass/labeler.go":      "a label of Gateways",
	"internal/front/gatewayclass/observe.go":      "OLM's labels on definitions, and the Istio of an operator before this one",
	"internal/front/istiocsr/handover.go":         "who owns the fields of an agent that Helm has installed",
	"internal/front/istiocsr/holder.go":           "the Certificate that an agent has left in the way of that of istiod",
	"internal/front/istiocsr/leftovers.go":        "the label of a package that is gone, on what it has left",
	"internal/front/istiocsr/cabundle/prompt.go":  "an annotation of the agent's pods",
	"internal/front/istiocsr/cabundle/write.go":   "the ConfigMap with the CAs, and its spare",
	"internal/front/kyma/cluster.go":              "an annotation of the Istio resource",
	"internal/front/kyma/former.go":               "what Kyma's own operator has left",
	"internal/front/kyma/owner.go":                "an owner reference of objects of its own package",
	"internal/front/kyma/purge.go":                "what is left of a mesh whose purge was asked for",
	"internal/front/kyma/restarts/mesh.go":        "annotations of the Istio resource and of Istio's namespace",
	"internal/front/kyma/restarts/replacement.go": "pods of a workload that is restarted",
	"internal/front/kyma/restarts/workload.go":    "an annotation in the pod template of a workload that is restarted",
}

// writerPackages may change a cluster as a whole: the command line at a person's
// request, and what imports Helm releases. The local Kubernetes has a cluster
// of its own, and so has who tests the engine.
var writerPackages = []string{"internal/helmimport", "internal/cli/...", "internal/localplane/...", "revisions/revisionstest", "test/..."}

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
			if _, may := writerFiles[file.Path]; may || file.IsTest || !importsClient(file) {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && isWrite(call) {
					problems = append(problems, fmt.Sprintf("%s: writes to the cluster; only the files and packages that internal/deptest/writers.go lists do", file.tokens.Position(call.Pos())))
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
