// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the repository's root.
const Module = "github.com/strata-run/strata"

// Package is one folder with Go files.
type Package struct {
	// Folder is relative to the repository's root.
	Folder string
	// Files are those that are compiled on some platform, tests included.
	Files []File
}

// File is one Go file.
type File struct {
	// Path is relative to the repository's root.
	Path string
	// Package is the name in its package clause.
	Package string
	// IsTest is true for a file that only `go test` compiles.
	IsTest bool
	// HasComment is true when the file holds the package's comment.
	HasComment bool
	// Imports are import paths.
	Imports []string

	syntax *ast.File
	tokens *token.FileSet
}

// libraryModules are the folders of the modules whose packages other programs import.
var libraryModules = []string{"revisions", "revisions/probes/celprobe"}

// ReadTree reads the packages of the module whose root the file system is, and of the
// library. Other modules below it, testdata and hidden folders are left out.
func ReadTree(root fs.FS) ([]Package, error) {
	packages := map[string]*Package{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if entry.IsDir() {
			return skipped(root, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, isBuilt, err := readFile(root, name)
		if err != nil || !isBuilt {
			return err
		}
		folder := path.Dir(name)
		if packages[folder] == nil {
			packages[folder] = &Package{Folder: folder}
		}
		packages[folder].Files = append(packages[folder].Files, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var sorted []Package
	for _, p := range packages {
		sorted = append(sorted, *p)
	}
	slices.SortFunc(sorted, func(a, b Package) int { return strings.Compare(a.Folder, b.Folder) })
	return sorted, nil
}

// skipped is fs.SkipDir for a folder that is not of the module.
func skipped(root fs.FS, folder string) error {
	if folder == "." {
		return nil
	}
	base := path.Base(folder)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(folder, "go.mod")); err == nil && !slices.Contains(libraryModules, folder) {
		return fs.SkipDir
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for a module in %s: %w", folder, err)
	}
	return nil
}

// readFile also says whether any build contains the file.
func readFile(root fs.FS, name string) (file File, isBuilt bool, err error) {
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return File{}, false, fmt.Errorf("reading %s: %w", name, err)
	}
	tokens := token.NewFileSet()
	syntax, err := parser.ParseFile(tokens, filepath.ToSlash(name), source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, false, fmt.Errorf("parsing %s: %w", name, err)
	}
	if isIgnored(syntax) {
		return File{}, false, nil
	}
	file = File{
		Path: name, Package: syntax.Name.Name, IsTest: strings.HasSuffix(name, "_test.go"),
		HasComment: isPackageComment(syntax),
		syntax:     syntax, tokens: tokens,
	}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, false, fmt.Errorf("parsing %s: import %s: %w", name, spec.Path.Value, err)
		}
		file.Imports = append(file.Imports, imported)
	}
	return file, true, nil
}

// isPackageComment is true for a comment that begins as go doc expects it. A
// program's may begin with its own name.
func isPackageComment(syntax *ast.File) bool {
	text := syntax.Doc.Text()
	return strings.HasPrefix(text, "Package "+syntax.Name.Name+" ") || syntax.Name.Name == "main" && text != ""
}

// isIgnored is true for a program that is only run by its file name.
func isIgnored(syntax *ast.File) bool {
	for _, group := range syntax.Comments {
		if group.Pos() > syntax.Package {
			return false
		}
		for _, comment := range group.List {
			if expression, err := constraint.Parse(comment.Text); err == nil && expression.String() == "ignore" {
				return true
			}
		}
	}
	return false
}
