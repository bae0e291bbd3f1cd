// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStore_NoRoom fails with words that do not change from one try to the next, keeps nothing of the
// failure, and goes on when a user has emptied the folder.
func TestStore_NoRoom(t *testing.T) {
	folder := t.TempDir()
	store, err := OpenStore(folder, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	add(t, store, 1, 1, time.Now())
	work := filepath.Join(folder, unfinished)
	for name, test := range map[string]struct {
		before func() error
		fill   func(folder string) (Image, error)
	}{
		// A user of the system that may do everything is kept from writing by no mode of a folder.
		"NoFolder": {before: func() error { return os.WriteFile(work, nil, 0o600) }},
		"NoFile": {before: func() error { return os.Mkdir(work, 0o700) }, fill: func(folder string) (Image, error) {
			return Image{}, os.WriteFile(filepath.Join(folder, "absent", "file"), nil, 0o600)
		}},
		"NotFinished": {before: func() error { return os.Mkdir(work, 0o700) }, fill: func(folder string) (Image, error) {
			return Image{}, os.RemoveAll(folder)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(work); err != nil {
				t.Fatal(err)
			}
			if err := test.before(); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for range 2 {
				_, err := store.Add(storeDigest(2), test.fill)
				if err == nil {
					t.Fatal("it is there")
				}
				texts = append(texts, err.Error())
			}
			t.Log(texts[0])
			if texts[0] != texts[1] {
				t.Errorf("another text at each try: %q", texts)
			}
			if _, found := store.Get(storeDigest(1)); !found || len(has(store)) != 1 {
				t.Errorf("there are %v", has(store))
			}
		})
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if _, found := store.Get(storeDigest(1)); found {
		t.Error("what a user has deleted is there")
	}
	add(t, store, 1, 1, time.Now())
}
