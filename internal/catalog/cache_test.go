// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCache keeps what was used last, and reads nothing again that it has.
func TestCache(t *testing.T) {
	origin := t.TempDir()
	if err := os.WriteFile(filepath.Join(origin, "catalog.yaml"), []byte("schema: olm.package\nname: p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := Cache{Folder: filepath.Join(t.TempDir(), "made"), Most: 2}
	if _, found := cache.Get("a"); found {
		t.Error("an empty cache has a content")
	}
	for age, key := range []string{"a", "b", "a", "c"} {
		if _, found := cache.Get(key); !found {
			content, err := cache.Read(t.Context(), key, Mounted{Root: origin, Path: origin})
			if err != nil || len(content.Packages()) != 1 {
				t.Fatalf("%s: %v", key, err)
			}
		}
		used := time.Now().Add(time.Duration(age-10) * time.Minute)
		if err := os.Chtimes(cache.path(key), used, used); err != nil {
			t.Fatal(err)
		}
	}
	for key, kept := range map[string]bool{"a": true, "b": false, "c": true} {
		if content, found := cache.Get(key); found != kept || found && len(content.Packages()) != 1 {
			t.Errorf("the cache has %s: %t", key, found)
		}
	}
	// Another command may have read the same meanwhile.
	if _, err := cache.Read(t.Context(), "a", Mounted{Root: origin, Path: origin}); err != nil {
		t.Error(err)
	}
	if _, err := cache.Read(t.Context(), "d", Mounted{Root: origin, Path: filepath.Join(origin, "missing")}); err == nil {
		t.Error("what does not exist is read")
	}
	if left, err := filepath.Glob(filepath.Join(cache.Folder, ".unfinished-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
