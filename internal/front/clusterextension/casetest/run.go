// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package casetest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is wanted in testdata/cases anew")

// Run compares, for at least so many cases of testdata/cases, the file wanted with what the case
// becomes.
func Run(t *testing.T, atLeast int, wanted string, becomes func(t *testing.T, archive *txtar.Archive) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d cases were found, want %d: %v", len(files), atLeast, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := becomes(t, archive)
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == wanted })
			if i < 0 {
				t.Fatalf("it has no %s", wanted)
			}
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[i].Data), got); diff != "" {
				t.Errorf("-want +got; -update writes it anew:\n%s", diff)
			}
		})
	}
}
