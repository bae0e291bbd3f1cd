// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// importing is a package with one file that imports packages of ours.
func importing(folder string, imports ...string) Package {
	file := File{Path: folder + "/a.go"}
	for _, imported := range imports {
		file.Imports = append(file.Imports, Module+"/"+imported)
	}
	return Package{Folder: folder, Files: []File{file}}
}

func TestPicture(t *testing.T) {
	rows := []Row{{Package: "api"}, {Package: "cmd/..."}, {Package: "engine"}, {Package: "loop"}, {Package: "test/..."}}
	onlyTests := importing("api", "loop")
	onlyTests.Files[0].IsTest = true
	cases := map[string]struct {
		reason   string
		packages []Package
		want     string
		fails    string
	}{
		"Floors": {
			reason:   "rooms stand above what they import; an import that goes over another room is left out, and tests count for nothing",
			packages: []Package{onlyTests, importing("cmd/strata", "cmd/flags", "loop", "api"), importing("cmd/flags"), importing("engine"), importing("loop", "engine", "api"), importing("test/all", "cmd/strata")},
			want: "```mermaid\nflowchart TB\n  cmd_[\"cmd/...\"]\n  loop[\"loop\"]\n  api[\"api\"]\n  engine[\"engine\"]\n" +
				"  cmd_ --> loop\n  loop --> api & engine\n```\n",
		},
		"Circle": {
			reason:   "Go forbids circles between packages, not between rooms of several",
			packages: []Package{importing("cmd/strata", "loop"), importing("loop", "cmd/flags"), importing("cmd/flags")},
			fails:    "cmd/... -> loop -> cmd/...",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Picture(rows, tc.packages)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("%s: the error is %v, want one with %q", tc.reason, err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWithPicture(t *testing.T) {
	got, err := WithPicture("above\n"+pictureBegin+"old\n"+pictureEnd+"below\n", "new\n")
	if want := "above\n" + pictureBegin + "new\n" + pictureEnd + "below\n"; err != nil || got != want {
		t.Errorf("the text is %q (%v), want %q", got, err, want)
	}
	if _, err := WithPicture("no place\n", "new\n"); err == nil {
		t.Error("a text without a place for the picture is no error")
	}
}
