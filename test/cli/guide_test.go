// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/strata-run/strata/test/guide"
)

var update = flag.Bool("update", false, "write the output into the guide anew")

// tasks answers each task of a user with a command.
var tasks = filepath.Join("..", "..", "docs", "guides", "tasks.md")

// TestGuide_Tasks runs the commands of the guide in their order.
func TestGuide_Tasks(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := plane.WriteKubeconfig(config, "alice", "system:masters"); err != nil {
		t.Fatal(err)
	}
	guide.Guide{Path: tasks, Kubectl: binaries.Path("kubectl"), Kubeconfig: config, Update: *update}.Run(t)
}

// TestGuide_Library builds the program that the guide to the library shows, which is a module
// of its own, and runs it as the guide does.
func TestGuide_Library(t *testing.T) {
	page, folder := filepath.Join("..", "..", "docs", "guides", "library.md"), filepath.Join("..", "consumer")
	program := filepath.Join(t.TempDir(), "consumer")
	build := exec.CommandContext(t.Context(), "go", "-C", folder, "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := plane.WriteKubeconfig(config, "alice", "system:masters"); err != nil {
		t.Fatal(err)
	}
	guide.Guide{
		Path: page, Kubectl: binaries.Path("kubectl"), Kubeconfig: config, Update: *update,
		Programs: map[string]string{"./consumer": program},
	}.Run(t)
}

// TestReadme_LeadsToGuides: every guide can be found from the first page, and the guide
// that is run shows every command of the stories there.
func TestReadme_LeadsToGuides(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil || len(guides) == 0 {
		t.Fatal(guides, err)
	}
	for _, name := range guides {
		if !strings.Contains(readme, "docs/guides/"+filepath.Base(name)) {
			t.Errorf("README.md has no link to %s", name)
		}
	}
	text, err = os.ReadFile(tasks)
	if err != nil {
		t.Fatal(err)
	}
	_, stories, found := strings.Cut(readme, "## Three people, three stories")
	stories, _, _ = strings.Cut(stories, "\n## ")
	verbs := regexp.MustCompile(`(?m)^strata (\S+)`).FindAllStringSubmatch(stories, -1)
	if !found || len(verbs) < 8 {
		t.Fatalf("the stories of README.md show %d commands", len(verbs))
	}
	for _, verb := range verbs {
		if !strings.Contains(string(text), "\n$ strata "+verb[1]+" ") {
			t.Errorf("README.md shows %s, and no guide that is run does", verb[0])
		}
	}
}
