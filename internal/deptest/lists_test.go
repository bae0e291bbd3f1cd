// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// kindFiles list the kinds of probes. A new kind has to be added to each of them.
var kindFiles = []string{"api/v1alpha1/probe_types.go", "internal/content/probes.go"}

// TestProbeKinds_Files keeps the number of files small that a new kind of probe touches: no
// other file may name most of the kinds.
func TestProbeKinds_Files(t *testing.T) {
	packages, err := ReadTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, p := range packages {
		for _, file := range p.Files {
			if file.Path == kindFiles[0] {
				kinds = fieldsOf(file, "Check")
			}
		}
	}
	if len(kinds) < 6 {
		t.Fatalf("%s: the type Check has the fields %q; this test reads the kinds from it", kindFiles[0], kinds)
	}
	if found := listing(packages, kinds); !slices.Equal(found, kindFiles) {
		t.Errorf("the kinds of probes are listed in %q, want %q: read them with Assertion.Kinds instead", found, kindFiles)
	}
}

// reasonFiles list the reasons of conditions: with their meaning, as a table, and where they are set.
var reasonFiles = []string{"api/v1alpha1/conditions.go", "internal/history/reasons.go", "internal/status/revision.go"}

// TestReasons_Files keeps the number of files small that a new reason of a condition touches.
func TestReasons_Files(t *testing.T) {
	packages, err := ReadTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, p := range packages {
		for _, file := range p.Files {
			if file.Path == reasonFiles[0] {
				reasons = constantsOf(file, "Reason")
			}
		}
	}
	if len(reasons) < 20 {
		t.Fatalf("%s has the reasons %q; this test reads them from it", reasonFiles[0], reasons)
	}
	if found := listing(packages, reasons); !slices.Equal(found, reasonFiles) {
		t.Errorf("the reasons of conditions are listed in %q, want %q: read history.Reasons instead", found, reasonFiles)
	}
}

// listing are the files, without tests and generated ones, that name most of the names.
func listing(packages []Package, names []string) []string {
	var found []string
	for _, p := range packages {
		for _, file := range p.Files {
			if !file.IsTest && !ast.IsGenerated(file.syntax) && len(named(file, names)) > len(names)/2 {
				found = append(found, file.Path)
			}
		}
	}
	return found
}

// constantsOf are the constants of a file with a prefix.
func constantsOf(file File, prefix string) []string {
	var names []string
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, prefix) {
			names = append(names, spec.Names[0].Name)
		}
		return true
	})
	return names
}

// fieldsOf are the fields of a struct type of a file.
func fieldsOf(file File, name string) []string {
	var fields []string
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok && spec.Name.Name == name {
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				fields = append(fields, field.Names[0].Name)
			}
		}
		return true
	})
	return fields
}

// named are those of the names that a file uses, each once.
func named(file File, names []string) []string {
	var found []string
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok && slices.Contains(names, ident.Name) && !slices.Contains(found, ident.Name) {
			found = append(found, ident.Name)
		}
		return true
	})
	return found
}
