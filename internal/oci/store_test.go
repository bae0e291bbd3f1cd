// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func storeDigest(n int) string { return fmt.Sprintf("sha256:%064x", n) }

// add puts an image of some bytes into a store, last used at a time.
func add(t *testing.T, store *Store, n, size int, used time.Time) {
	t.Helper()
	entry, err := store.Add(storeDigest(n), func(folder string) (Image, error) {
		return Image{Reference: fmt.Sprint(n)}, os.WriteFile(filepath.Join(folder, "file"), make([]byte, size), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(filepath.Dir(entry.Folder), entryFile), used, used); err != nil {
		t.Fatal(err)
	}
}

// has are the images of a store.
func has(store *Store) []int {
	var found []int
	for n := range 10 {
		if entry, ok := store.Get(storeDigest(n)); ok && entry.Image.Reference == fmt.Sprint(n) {
			if _, err := os.Stat(filepath.Join(entry.Folder, "file")); err == nil {
				found = append(found, n)
			}
		}
	}
	return found
}

// TestStore_Crash opens a store that a process has left at any point.
func TestStore_Crash(t *testing.T) {
	folder := t.TempDir()
	store, err := OpenStore(folder, 1000)
	if err != nil {
		t.Fatal(err)
	}
	add(t, store, 1, 10, time.Now())
	add(t, store, 2, 10, time.Now())
	// A pull that was under way, an entry without its file, and one with half of it.
	for _, path := range []string{"unfinished/123/files", fmt.Sprintf("%064x/files", 3)} {
		if err := os.MkdirAll(filepath.Join(folder, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%064x", 2), entryFile), []byte(`{"image":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if store, err = OpenStore(folder, 1000); err != nil {
		t.Fatal(err)
	}
	if got := has(store); !slices.Equal(got, []int{1}) {
		t.Errorf("images %v, want 1", got)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v; want what is in one entry", left, err)
	}
	if images, size := store.Size(); images != 1 || size != 10 {
		t.Errorf("size %d, %d", images, size)
	}
}

// TestStore_Collect keeps what is needed, and of the rest what was used last.
func TestStore_Collect(t *testing.T) {
	folder := t.TempDir()
	store, err := OpenStore(folder, 25)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for n := range 5 {
		add(t, store, n, 10, now.Add(time.Duration(n-10)*time.Hour))
	}
	// The times are those of files, as after a restart.
	if store, err = OpenStore(folder, 25); err != nil {
		t.Fatal(err)
	}
	if _, found := store.Get(storeDigest(2)); !found { // used now
		t.Error("2 is missing")
	}
	if err := store.Collect(func(digest string) bool { return digest == storeDigest(0) }); err != nil {
		t.Fatal(err)
	}
	if got := has(store); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("images %v, want 0, which is needed, and 2, which was used last", got)
	}
	if err := store.Collect(func(string) bool { return true }); err != nil || len(has(store)) != 2 {
		t.Errorf("images %v, %v after nothing was to be collected", has(store), err)
	}
	if reopened, err := OpenStore(folder, 25); err != nil || !slices.Equal(has(reopened), []int{0, 2}) {
		t.Errorf("images %v, %v on disk", has(reopened), err)
	}
}

// TestStore_Add keeps nothing of a failure, and nothing under a name that is no digest.
func TestStore_Add(t *testing.T) {
	store, err := OpenStore(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("broken off")
	_, err = store.Add(storeDigest(1), func(folder string) (Image, error) {
		return Image{}, errors.Join(failure, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	})
	if !errors.Is(err, failure) || len(has(store)) != 0 {
		t.Errorf("got %v, images %v", err, has(store))
	}
	_, err = store.Add("sha256:../../x", func(string) (Image, error) { t.Error("filled"); return Image{}, nil })
	wantKind(t, err, Invalid)
	add(t, store, 1, 1, time.Now())
	if _, err := store.Add(storeDigest(1), func(string) (Image, error) { t.Error("filled again"); return Image{}, nil }); err != nil {
		t.Error(err)
	}
}
