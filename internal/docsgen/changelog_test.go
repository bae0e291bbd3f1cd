// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangelog runs the script of make changelog in a folder of its own.
func TestChangelog(t *testing.T) {
	cases := map[string]struct {
		reason                     string
		before, after, fails, left string
		fragments                  map[string]string
	}{
		"Kinds": {
			reason:    "a heading that is there gets the lines at its top, others are made below Unreleased, and a release stays as it was",
			before:    "# Changelog\n\n## Unreleased\n\n### Added\n\n- old\n\n## v0.1.0\n\n### Added\n\n- first\n",
			fragments: map[string]string{"b.added.md": "- new b\n", "a.added.md": "- new a\n  on two lines\n", "x.fixed.md": "- fixed\n"},
			after: "# Changelog\n\n## Unreleased\n\n### Added\n\n- new a\n  on two lines\n- new b\n- old\n\n### Fixed\n\n- fixed\n\n" +
				"## v0.1.0\n\n### Added\n\n- first\n",
		},
		"Last": {
			reason: "Unreleased is the last heading of a project without a release", before: "# Changelog\n\n## Unreleased\n",
			fragments: map[string]string{"x.changed.md": "- changed\n"}, after: "# Changelog\n\n## Unreleased\n\n### Changed\n\n- changed\n",
		},
		"UnknownKind": {
			reason: "a misspelled kind is not lost", before: "# Changelog\n\n## Unreleased\n",
			fragments: map[string]string{"x.fix.md": "- fixed\n"}, after: "# Changelog\n\n## Unreleased\n", fails: "changes/x.fix.md", left: "x.fix.md",
		},
		"NoUnreleased": {
			reason: "without its place a fragment stays", before: "# Changelog\n",
			fragments: map[string]string{"x.fixed.md": "- fixed\n"}, after: "# Changelog\n", fails: "Unreleased", left: "x.fixed.md",
		},
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "hack", "changelog.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "changes"), 0o700); err != nil {
				t.Fatal(err)
			}
			write("CHANGELOG.md", tc.before)
			write("changes/README.md", "how\n")
			for name, text := range tc.fragments {
				write(filepath.Join("changes", name), text)
			}
			command := exec.CommandContext(t.Context(), script)
			command.Dir = dir
			output, err := command.CombinedOutput()
			if (err != nil) != (tc.fails != "") || !strings.Contains(string(output), tc.fails) {
				t.Errorf("%s: the script ends with %v and says %q, want %q", tc.reason, err, output, tc.fails)
			}
			after, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.after, string(after)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			left, err := filepath.Glob(filepath.Join(dir, "changes", "*.*.md"))
			if err != nil || (tc.left == "") != (len(left) == 0) {
				t.Errorf("%s: the fragments %v are left (%v), want %q", tc.reason, left, err, tc.left)
			}
		})
	}
}
