// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const importerSource = `package importer

import (
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
	"github.com/strata-run/strata/revisions/probes"
)

// Cache, New and True are here to use what is imported.
var (
	Cache = cache.New
	New   = revisions.New
	True  = probes.True
)
`

// notForImporters are what an importer of the public packages must not have to
// build.
var notForImporters = []string{
	Module + "/internal", Module + "/api", "alias.strata.run", "github.com/google/cel-go", "helm.sh/helm", "istio.io",
	"sigs.k8s.io/controller-runtime/pkg/builder", "sigs.k8s.io/controller-runtime/pkg/manager",
}

// TestImporter proves that another module can use the library: it lists and tidies its
// requirements, and builds nothing that the library does not need. Our own go.mod replaces
// the aliases of older Istio modules, and a replacement does not reach importers, which is
// why the library is a module of its own.
func TestImporter(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	library := Module + "/revisions"
	sums, err := os.ReadFile(filepath.Join(checkout, "revisions", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": fmt.Sprintf("module importer.invalid/importer\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", library, library, filepath.Join(checkout, "revisions")),
		"go.sum": string(sums), "importer.go": importerSource,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		var complaint strings.Builder
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir, command.Stderr = dir, &complaint
		answer, err := command.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, complaint.String())
		}
		return string(answer)
	}
	run("mod", "tidy")
	run("list", "-m", "all")
	run("build", "./...")
	for built := range strings.FieldsSeq(run("list", "-deps", "./...")) {
		if below(built, notForImporters) {
			t.Errorf("an importer of the public packages has to build %s", built)
		}
	}
}

// mostLines is how long the program of the guide may be: the library is easy to use.
const mostLines = 40

// TestConsumer builds the program that the guide to the library shows, which is a module of
// its own.
func TestConsumer(t *testing.T) {
	folder := filepath.Join(root, "test", "consumer")
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"main.go": "//go:embed definition", "definition.yaml": "", "order.yaml": ""} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		_, shown, found := strings.Cut(string(content), from)
		if !found || !strings.Contains(string(text), from+shown) {
			t.Errorf("the guide shows another %s", name)
		}
		if lines := strings.Count(string(content), "\n"); lines > mostLines {
			t.Errorf("%s has %d lines, want at most %d", name, lines, mostLines)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "-C", folder, "build", "-o", filepath.Join(t.TempDir(), "consumer"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", build, err, out)
	}
}
