// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package fronts

import (
	"bufio"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-run/strata/internal/deptest"
)

// root is the repository, folder has a folder for each front, and list is the file that lists them.
const (
	root   = "../.."
	folder = "internal/front"
	list   = "internal/controller/fronts.go"
)

// TestFronts_CanBeDeleted deletes each front from a copy of the repository: its folder, its API if
// no other package uses that, its line in the list, and the files of tests of whole flows that use it
// or each other. The rest builds and passes go vet.
func TestFronts_CanBeDeleted(t *testing.T) {
	packages, err := deptest.ReadTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range packages {
		parent, name := path.Split(p.Folder)
		if parent != folder+"/" {
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			copied := copyTree(t, without(t, name, packages))
			unlist(t, filepath.Join(copied, list), path.Join(deptest.Module, folder, name))
			vet(t, copied)
		})
	}
	if found < 4 {
		t.Errorf("%s holds %d fronts", folder, found)
	}
}

// without says which files go with a front.
func without(t *testing.T, front string, packages []deptest.Package) map[string]bool {
	t.Helper()
	gone := []string{path.Join(folder, front)}
	uses := func(file deptest.File, folders []string) bool {
		return slices.ContainsFunc(file.Imports, func(imported string) bool { return below(strings.TrimPrefix(imported, deptest.Module+"/"), folders) })
	}
	// Its API is what it uses of api and no other package does. An older version is before a newer
	// one, which it may use.
	for _, p := range packages {
		own := strings.HasPrefix(p.Folder, "api/")
		used := false
		for _, other := range packages {
			for _, file := range other.Files {
				if !uses(file, []string{p.Folder}) || below(file.Path, []string{p.Folder}) {
					continue
				}
				used = used || below(file.Path, gone)
				own = own && (below(file.Path, gone) || isFlow(file))
			}
		}
		if own && used {
			gone = append(gone, p.Folder)
		}
	}
	deleted := map[string]bool{}
	for _, p := range packages {
		flows := false
		for _, file := range p.Files {
			deleted[file.Path] = below(file.Path, gone) || isFlow(file) && uses(file, gone)
			flows = flows || isFlow(file) && deleted[file.Path]
		}
		if flows {
			deleteUsers(t, p, deleted)
		}
	}
	return deleted
}

// deleteUsers adds the files of a package that use what deleted ones declare.
func deleteUsers(t *testing.T, p deptest.Package, deleted map[string]bool) {
	t.Helper()
	always := undefined(t, p, nil) // of what is imported
	for grown := true; grown; {
		grown = false
		for place := range undefined(t, p, deleted) {
			if name, _, _ := strings.Cut(place, ":"); !always[place] && !deleted[name] {
				deleted[name], grown = true, true
			}
		}
	}
}

// undefined says where a package without some of its files uses what is not declared, as far as that
// can be said without its imports.
func undefined(t *testing.T, p deptest.Package, without map[string]bool) map[string]bool {
	t.Helper()
	positions := token.NewFileSet()
	var files []*ast.File
	for _, file := range p.Files {
		if without[file.Path] {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, file.Path))
		if err != nil {
			t.Fatal(err)
		}
		syntax, err := parser.ParseFile(positions, file.Path, data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, syntax)
	}
	places := map[string]bool{}
	check := types.Config{Importer: noImports{}, Error: func(err error) {
		if problem, ok := errors.AsType[types.Error](err); ok && strings.Contains(problem.Msg, "undefined") {
			places[positions.Position(problem.Pos).String()] = true
		}
	}}
	_, _ = check.Check(p.Folder, positions, files, nil) // it fails for want of the imports
	return places
}

// noImports imports nothing.
type noImports struct{}

// Import implements [types.Importer].
func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.ErrUnsupported
}

// isFlow says whether a file tests whole flows.
func isFlow(file deptest.File) bool { return file.IsTest && below(file.Path, []string{"test"}) }

func below(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") })
}

// copyTree copies what the build needs of the repository, without some files.
func copyTree(t *testing.T, without map[string]bool) string {
	t.Helper()
	to := t.TempDir()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(name, ".") && name != "." || name == "bin" || name == "docs" || name == "tools"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case without[name] || !entry.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// unlist takes the lines of a package out of the list of fronts: its import, and its entry.
func unlist(t *testing.T, file, imported string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line != `"`+imported+`"` && !strings.HasPrefix(line, path.Base(imported)+".") {
			kept = append(kept, lines.Text())
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// vet runs go vet in a copy, with the build cache that all tests share.
func vet(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = folder
	// Without the path of the copy in what is built, packages that have not changed come from the cache.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
	if complaint, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, complaint)
	}
}
