// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Cache keeps contents of catalogs for commands, which come and go, and of which several may run at a
// time. A content has a key that never stands for another one, such as an image by digest.
type Cache struct {
	// Folder is made when there is something to keep.
	Folder string
	// Most is how many contents are kept.
	Most int
}

// Get is the content of a key, if there is one.
func (c Cache) Get(key string) (*Content, bool) {
	path := c.path(key)
	content, err := Open(path)
	if err != nil {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // an order of use that is a little off does no harm
	return content, true
}

// Read reads a content from its origin and keeps it.
func (c Cache) Read(ctx context.Context, key string, origin Origin) (*Content, error) {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the catalog: %w", err)
	}
	work, err := os.MkdirTemp(c.Folder, ".unfinished-")
	if err != nil {
		return nil, fmt.Errorf("keeping the catalog: %w", err)
	}
	defer os.RemoveAll(work)
	content, err := ReadInto(ctx, work, origin)
	if err != nil {
		return nil, err
	}
	// Another command may have been faster. It has kept the same.
	if err := os.Rename(content.folder, c.path(key)); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("keeping the catalog: %w", err)
	}
	content.folder = c.path(key)
	return content, c.collect(key)
}

// ReadInto reads a catalog from its origin into a folder that is empty.
func ReadInto(ctx context.Context, folder string, origin Origin) (*Content, error) {
	content, _, err := readInto(ctx, folder, origin, Version{})
	return content, err
}

func readInto(ctx context.Context, folder string, origin Origin, last Version) (content *Content, now Version, err error) {
	scratch, built := filepath.Join(folder, "scratch"), filepath.Join(folder, "built")
	if err := cmp.Or(os.MkdirAll(scratch, 0o700), os.Mkdir(built, 0o700)); err != nil {
		return nil, now, fmt.Errorf("keeping the catalog: %w", err)
	}
	now, err = origin.Fetch(ctx, last, scratch, func(source Source) (err error) {
		content, err = Build(ctx, built, source)
		return err
	})
	if err == nil && content == nil {
		err = errors.New("the origin of the catalog has handed over no content")
	}
	return content, now, err
}

func (c Cache) path(key string) string {
	return filepath.Join(c.Folder, fmt.Sprintf("%x", sha256.Sum256([]byte(key))))
}

// collect deletes the contents that were not used for longest, and what was left unfinished a day ago.
func (c Cache) collect(but string) error {
	entries, err := os.ReadDir(c.Folder)
	if err != nil {
		return fmt.Errorf("collecting catalogs: %w", err)
	}
	used := map[string]time.Time{}
	var kept []string
	for _, entry := range entries {
		path := filepath.Join(c.Folder, entry.Name())
		info, err := entry.Info()
		switch {
		case err != nil || path == c.path(but): // another command may have deleted it
		case entry.Name()[0] != '.':
			kept, used[path] = append(kept, path), info.ModTime()
		case time.Since(info.ModTime()) > 24*time.Hour:
			err = os.RemoveAll(path)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("collecting catalogs: %w", err)
		}
	}
	slices.SortFunc(kept, func(a, b string) int { return cmp.Compare(used[b].UnixNano(), used[a].UnixNano()) })
	for _, path := range kept[min(len(kept), max(c.Most-1, 0)):] {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("collecting catalogs: %w", err)
		}
	}
	return nil
}
