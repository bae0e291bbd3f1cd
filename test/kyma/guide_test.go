// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// marker is a comment in the guide that says what its reader does without a command.
var marker = regexp.MustCompile(`^<!-- (manager|file): (\S+) -->$`)

// story runs the commands of a guide.
type story struct {
	t   *testing.T
	dir string
	env []string
}

// TestStory runs every command of the guide, as it stands there.
func TestStory(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/kyma.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t)
	var block []string
	language, file, commands := "", "", 0
	for line := range strings.SplitSeq(string(text), "\n") {
		found := marker.FindStringSubmatch(line)
		switch {
		case len(found) == 3 && found[1] == "file":
			file = found[2]
		case len(found) == 3:
			if err := startManager(t.Context(), found[2]); err != nil {
				t.Fatal(err)
			}
		case language == "" && strings.HasPrefix(line, "```"):
			language, block = strings.TrimPrefix(line, "```"), nil
		case line == "```":
			if commands += s.end(language, file, block); t.Failed() {
				return
			}
			language, file = "", ""
		case language != "":
			block = append(block, line)
		}
	}
	if commands < 20 {
		t.Errorf("the guide has %d commands: they are not found where they are looked for", commands)
	}
}

// newStory has kubectl and strata in its path, and the rights of an administrator.
func newStory(t *testing.T) *story {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"strata": self, "kubectl": filepath.Join(binaries.Dir, "kubectl")} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "kubeconfig")
	if err := plane.WriteKubeconfig(config, "admin-of-the-story", "system:masters"); err != nil {
		t.Fatal(err)
	}
	return &story{t: t, dir: dir, env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+config, "HOME="+dir)}
}

// end does what a block of the guide says, and counts its commands.
func (s *story) end(language, file string, block []string) int {
	s.t.Helper()
	text := strings.Join(block, "\n") + "\n"
	switch {
	case language == "yaml" && file != "":
		if err := os.WriteFile(filepath.Join(s.dir, file), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	case language == "sh":
		for _, command := range block {
			s.run(command)
		}
		return len(block)
	}
	return 0
}

// run runs a command that has to succeed, or to fail when it begins with !.
func (s *story) run(line string) {
	s.t.Helper()
	command, fails := strings.CutPrefix(line, "! ")
	c := exec.CommandContext(s.t.Context(), "bash", "-o", "pipefail", "-c", command)
	c.Dir, c.Env = s.dir, s.env
	out, err := c.CombinedOutput()
	if (err != nil) != fails {
		look := exec.CommandContext(s.t.Context(), "bash", "-c", "kubectl get istios.operator.kyma-project.io -A -o yaml")
		look.Env = s.env
		found, _ := look.CombinedOutput()
		s.t.Fatalf("%s\n%s%v\n%s", line, out, err, found)
	}
	s.t.Logf("%s\n%.2000s", line, out)
}
