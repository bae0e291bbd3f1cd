// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package fronts

import (
	"bufio"
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
// no other package uses that, its line in the list, and tests of whole flows that use it. The rest
// builds and passes go vet.
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
			deleted, incomplete := without(name, packages)
			copied := copyTree(t, deleted)
			unlist(t, filepath.Join(copied, list), path.Join(deptest.Module, folder, name))
			var rest []string
			for imported := range strings.FieldsSeq(run(t, copied, "list", "-f", "{{.ImportPath}}", "./...")) {
				if within := strings.TrimPrefix(imported, deptest.Module+"/"); !incomplete[within] {
					rest = append(rest, imported)
				}
			}
			run(t, copied, append([]string{"vet"}, rest...)...)
		})
	}
	if found < 4 {
		t.Errorf("%s holds %d fronts", folder, found)
	}
}

// without says which files go with a front, and which packages of tests have others that may need
// what these declare.
func without(front string, packages []deptest.Package) (deleted, incomplete map[string]bool) {
	deleted, incomplete = map[string]bool{}, map[string]bool{}
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
	for _, p := range packages {
		for _, file := range p.Files {
			switch {
			case below(file.Path, gone):
				deleted[file.Path] = true
			case isFlow(file) && uses(file, gone):
				deleted[file.Path], incomplete[p.Folder] = true, true
			}
		}
	}
	return deleted, incomplete
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

// run runs the go command in a folder, with the build cache that all tests share, and returns what
// it prints.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = folder
	complaint := &strings.Builder{}
	cmd.Stderr = complaint
	// Without the path of the copy in what is built, packages that have not changed come from the cache.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, complaint)
	}
	return string(out)
}
