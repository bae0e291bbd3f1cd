// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"slices"
	"strings"
)

// library is a rule about what is not ours.
type library struct {
	// where are the packages it is for, as in the table; files are single ones.
	where, files []string
	// except are files of the packages that it is not for.
	except []string
	// inFronts is for the files of fronts that decide.
	inFronts bool
	// only, if not empty, are the prefixes that may be imported from outside of
	// the standard library.
	only []string
	// never are prefixes that may not be imported, the standard library's too.
	never []string
	// why tells who broke the rule.
	why string
}

// clusterAndFiles is what a pure package does not import.
var clusterAndFiles = []string{"net", "os", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"}

var libraries = []library{
	{
		where: []string{"api/v1alpha1", "api/olm.operatorframework.io/..."}, only: []string{"k8s.io/apimachinery"},
		why: "the API can be imported with nothing but apimachinery",
	},
	{
		where: []string{"api/..."}, only: []string{"k8s.io/apimachinery", "k8s.io/api/core/v1"},
		why: "what ends up in a pod has the types of the core API, and nothing else is needed",
	},
	{
		where: []string{"revisions/probes"}, only: []string{"k8s.io/apimachinery"}, never: clusterAndFiles,
		why: "a probe is a pure function that anyone can import",
	},
	{
		where: []string{"revisions/probes/celprobe"}, never: clusterAndFiles,
		only: []string{"k8s.io/apimachinery", "k8s.io/apiserver/pkg/cel", "github.com/google/cel-go"},
		why:  "CEL is linked here and nowhere else",
	},
	{
		where: []string{"revisions"},
		only:  []string{"k8s.io/apimachinery", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/structured-merge-diff", "github.com/go-logr/logr", "golang.org/x/sync"},
		why:   "the engine needs a client, and no manager",
	},
	{
		where: []string{"revisions/cache"},
		only:  []string{"k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/client"},
		why:   "the cache needs informers, and no manager",
	},
	{
		files: []string{"revisions/decide.go", "revisions/compare.go", "revisions/owner.go", "revisions/conflicts.go", "revisions/backoff.go"},
		never: append([]string{"context"}, clusterAndFiles...),
		why:   "what decides is pure",
	},
	{
		where:  []string{"internal/chart", "internal/content/...", "internal/history", "internal/status"},
		except: []string{"internal/content/keep.go", "internal/content/key.go", "internal/content/release.go", "internal/content/store.go"},
		never:  clusterAndFiles,
		why:    "the package is pure: what it needs to know is handed to it",
	},
	{
		inFronts: true, never: append([]string{"context"}, clusterAndFiles...),
		why: "in a front's folder only the files that internal/deptest lists as acting meet the cluster",
	},
}

// Libraries compares the imports of other modules and of the standard library
// with the rules. Tests may import what they like.
func Libraries(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			for _, rule := range libraries {
				if !file.IsTest && !slices.Contains(rule.except, file.Path) && (allows(rule.where, p.Folder) || slices.Contains(rule.files, file.Path) || rule.inFronts && decides(file)) {
					problems = append(problems, rule.check(file)...)
				}
			}
		}
	}
	return problems
}

func (l library) check(file File) []string {
	var problems []string
	for _, imported := range file.Imports {
		if l.breaks(imported) {
			problems = append(problems, fmt.Sprintf("%s: imports %s: %s", file.Path, imported, l.why))
		}
	}
	return problems
}

func (l library) breaks(imported string) bool {
	if below(imported, l.never) {
		return true
	}
	first, _, _ := strings.Cut(imported, "/")
	standard := !strings.Contains(first, ".")
	ours := imported == Module || strings.HasPrefix(imported, Module+"/")
	return len(l.only) > 0 && !standard && !ours && !below(imported, l.only)
}

func below(imported string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return imported == prefix || strings.HasPrefix(imported, prefix+"/")
	})
}
