// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImage unpacks an image once for each digest.
func TestImage(t *testing.T) {
	store := openStore(t, t.TempDir())
	pinned, unpacked := "r.example/c@sha256:1", 0
	image := Image{
		Resolve: func(context.Context) (string, error) { return pinned, nil },
		Unpack: func(_ context.Context, from, folder string) error {
			unpacked++
			if from != pinned {
				t.Errorf("unpacks %s", from)
			}
			return os.WriteFile(filepath.Join(folder, "catalog.json"), []byte(packageBlobOf(strings.ReplaceAll(from, "/", "-"))), 0o600)
		},
	}
	for _, want := range []int{1, 1} {
		if _, err := store.Refresh(t.Context(), "c", image); err != nil || unpacked != want {
			t.Fatalf("%v, unpacked %d times, want %d", err, unpacked, want)
		}
	}
	pinned = "r.example/c@sha256:2"
	if changed, err := store.Refresh(t.Context(), "c", image); err != nil || !changed || unpacked != 2 {
		t.Fatalf("%v, %v, unpacked %d times", changed, err, unpacked)
	}
	if left, err := filepath.Glob(filepath.Join(store.folder, unfinished, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
	// The catalog is gone from disk, so its version is not known any more.
	if err := store.Drop("c"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Refresh(t.Context(), "c", image); err != nil || unpacked != 3 {
		t.Errorf("%v, unpacked %d times", err, unpacked)
	}
}

// TestMounted reads a folder when it has changed, and nothing outside of the root.
func TestMounted(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	inside := filepath.Join(root, "catalogs", "one")
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(inside, "a.yaml"), "schema: olm.package\nname: a\n")
	write(filepath.Join(outside, "secret.yaml"), "schema: olm.package\nname: secret\n")
	store := openStore(t, t.TempDir())
	mounted := Mounted{Root: root, Path: inside}
	for i, want := range []bool{true, false} {
		if changed, err := store.Refresh(t.Context(), "c", mounted); err != nil || changed != want {
			t.Fatalf("update %d: %v, %v", i, changed, err)
		}
	}
	write(filepath.Join(inside, "sub", "b.yaml"), "schema: olm.package\nname: b\n")
	if changed, err := store.Refresh(t.Context(), "c", mounted); err != nil || !changed {
		t.Fatalf("%v, %v after a change", changed, err)
	}
	wantPackages(t, store, "c", "a", "b")

	if err := os.Symlink(outside, filepath.Join(root, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(inside, "linked.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{outside, root + "/../x", filepath.Join(root, "linked"), root + "x", inside, filepath.Join(root, "none")} {
		if _, err := store.Refresh(t.Context(), "other", Mounted{Root: root, Path: path}); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	wantPackages(t, store, "other")
}

// TestConfigsFolder needs the label.
func TestConfigsFolder(t *testing.T) {
	if folder, err := ConfigsFolder(map[string]string{ConfigsLabel: "/configs"}); err != nil || folder != "/configs" {
		t.Errorf("%q, %v", folder, err)
	}
	for _, labels := range []map[string]string{nil, {ConfigsLabel: ""}, {ConfigsLabel: "/"}} {
		if _, err := ConfigsFolder(labels); err == nil {
			t.Errorf("%v is a catalog", labels)
		}
	}
}
