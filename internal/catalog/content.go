// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// ErrNoPackage says that a catalog does not have a package.
var ErrNoPackage = errors.New("the catalog does not have the package")

// Content is a catalog on disk. It keeps the names of its packages in memory, and no file open, so
// that its folder can be deleted at any time.
type Content struct {
	folder string
	index  index
}

// Open reads the index that [Build] has written.
func Open(folder string) (*Content, error) {
	raw, err := os.ReadFile(filepath.Join(folder, indexFile))
	if err != nil {
		return nil, fmt.Errorf("opening the catalog: %w", err)
	}
	content := &Content{folder: folder}
	if err := json.Unmarshal(raw, &content.index); err != nil {
		return nil, fmt.Errorf("opening the catalog: reading %s: %w", indexFile, err)
	}
	if content.index.Format != format {
		return nil, fmt.Errorf("opening the catalog: its index has the format %d, not %d", content.index.Format, format)
	}
	return content, nil
}

// Packages are the names of all packages, sorted, with those that are not usable.
func (c *Content) Packages() []string { return slices.Sorted(maps.Keys(c.index.Packages)) }

// Problems are those that belong to no package.
func (c *Content) Problems() []Problem { return c.index.Problems }

// Size is how many bytes the blobs have.
func (c *Content) Size() int64 { return c.index.Size }

// Digest is that of the blobs, and the same whichever way they came.
func (c *Content) Digest() string { return c.index.Digest }

// Blobs is how many blobs the catalog has.
func (c *Content) Blobs() int { return c.index.Blobs }

// Package looks a package up. The error is [ErrNoPackage] when there is none of the name, and a
// [*PackageError] when the package is not usable; what could be read of it is returned all the same.
func (c *Content) Package(name string) (Package, error) {
	one, err := c.record(name)
	if err == nil && len(one.Fatal) > 0 {
		err = &PackageError{Package: name, Problems: one.Fatal}
	}
	return one.Package, err
}

// Stamp stands for what [Content.Package] returns: it is the same in another content that says the
// same of the package, and empty when there is none. The size is how many bytes are read for it.
func (c *Content) Stamp(name string) (stamp string, size int) {
	at, found := c.index.Packages[name]
	if !found {
		return "", 0
	}
	return fmt.Sprintf("%016x", at.Stamp), at.Length
}

// Blob is the first blob of a schema and a name as the catalog has it, for what [Package] leaves out.
func (c *Content) Blob(packageName, schema, name string) (json.RawMessage, error) {
	one, err := c.record(packageName)
	if err != nil {
		return nil, err
	}
	for _, blob := range one.Blobs {
		if blob.Schema == schema && blob.Name == name {
			return c.read(blobsFile, blob.span)
		}
	}
	return nil, fmt.Errorf("the package %q of the catalog has no %s %q", packageName, schema, name)
}

func (c *Content) record(name string) (record, error) {
	at, found := c.index.Packages[name]
	if !found {
		return record{}, ErrNoPackage
	}
	raw, err := c.read(packagesFile, at.span)
	if err != nil {
		return record{}, err
	}
	one := record{}
	if err := json.Unmarshal(raw, &one); err != nil {
		return record{}, fmt.Errorf("reading the package %q of the catalog: %w", name, err)
	}
	return one, nil
}

func (c *Content) read(file string, at span) ([]byte, error) {
	in, err := os.Open(filepath.Join(c.folder, file))
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	defer in.Close()
	raw := make([]byte, at.Length)
	if _, err := in.ReadAt(raw, at.Offset); err != nil {
		return nil, fmt.Errorf("reading %s of the catalog: %w", file, err)
	}
	return raw, nil
}

// onDisk is how many bytes its files have.
func (c *Content) onDisk() int64 {
	var size int64
	for _, name := range []string{blobsFile, packagesFile, indexFile} {
		if info, err := os.Stat(filepath.Join(c.folder, name)); err == nil {
			size += info.Size()
		}
	}
	return size
}
