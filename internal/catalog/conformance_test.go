// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the files under testdata anew")

// TestConformance reads the catalogs in testdata/conformance, where a README says how to add one.
func TestConformance(t *testing.T) {
	names, err := filepath.Glob("testdata/conformance/*.txt")
	if err != nil || len(names) < 5 {
		t.Fatalf("found %d cases (%v)", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want, kept := fstest.MapFS{}, "", []txtar.File{}
			for _, file := range archive.Files {
				if file.Name == "want" {
					want = string(file.Data)
					continue
				}
				files[file.Name] = &fstest.MapFile{Data: file.Data}
				kept = append(kept, file)
			}
			content, err := Build(t.Context(), t.TempDir(), Folder(files))
			if err != nil {
				t.Fatal(err)
			}
			got := describe(t, content)
			if *update {
				kept = append(kept, txtar.File{Name: "want", Data: []byte(got)})
				archive.Files = kept
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run with -update, and read the changes (-want +got):\n%s", diff)
			}
		})
	}
}

// describe writes a catalog as the cases have it.
func describe(t *testing.T, content *Content) string {
	t.Helper()
	out := &strings.Builder{}
	for _, name := range content.Packages() {
		p, err := content.Package(name)
		broken := &PackageError{}
		if err != nil && !errors.As(err, &broken) {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "package %s", p.Name)
		if p.DefaultChannel != "" {
			fmt.Fprintf(out, ", default channel %s", p.DefaultChannel)
		}
		fmt.Fprintln(out)
		for _, problem := range broken.Problems {
			fmt.Fprintf(out, "  fatal: %s\n", problem)
		}
		for _, problem := range p.Warnings {
			fmt.Fprintf(out, "  warning: %s\n", problem)
		}
		describePackage(out, p)
	}
	for _, problem := range content.Problems() {
		fmt.Fprintf(out, "catalog: %s\n", problem)
	}
	return out.String()
}

func describePackage(out *strings.Builder, p Package) {
	for _, channel := range p.Channels {
		fmt.Fprintf(out, "  channel %s\n", channel.Name)
		for _, entry := range channel.Entries {
			fmt.Fprintf(out, "    %s", entry.Name)
			if entry.Replaces != "" {
				fmt.Fprintf(out, ", replaces %s", entry.Replaces)
			}
			if len(entry.Skips) > 0 {
				fmt.Fprintf(out, ", skips %s", strings.Join(entry.Skips, " "))
			}
			if entry.SkipRange != "" {
				fmt.Fprintf(out, ", skipRange %q", entry.SkipRange)
			}
			fmt.Fprintln(out)
		}
	}
	for _, bundle := range p.Bundles {
		fmt.Fprintf(out, "  bundle %s, version %s", bundle.Name, bundle.Version)
		if bundle.Release != nil {
			fmt.Fprintf(out, ", release %q", *bundle.Release)
		}
		fmt.Fprintf(out, ", image %s\n", bundle.Image)
		for _, property := range bundle.Properties {
			if property.Type != PropertyPackage {
				fmt.Fprintf(out, "    property %s: %s\n", property.Type, property.Value)
			}
		}
	}
	for _, entry := range p.Deprecations {
		fmt.Fprintf(out, "  deprecated %s %q: %q\n", entry.Schema, entry.Name, entry.Message)
	}
}
