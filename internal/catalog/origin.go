// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Origin is where the content of a catalog comes from.
type Origin interface {
	// Fetch asks for the version that the origin has now, and hands its blobs to a function that reads
	// them. It returns [ErrUnchanged] instead when that is the last version. The folder is empty, and
	// deleted afterwards.
	Fetch(ctx context.Context, last Version, scratch string, read func(Source) error) (Version, error)
}

// ErrUnchanged says that an origin has the version that is known.
var ErrUnchanged = errors.New("the catalog has not changed")

// Version tells one content of an origin from another one.
type Version struct {
	// Reference is an image by digest, or the state of a folder.
	Reference string `json:"reference,omitempty"`
	// Modified is the time that a server gives.
	Modified string `json:"modified,omitempty"`
}

// ConfigsLabel is the label of catalog images that names the folder with the catalog.
const ConfigsLabel = "operators.operatorframework.io.index.configs.v1"

// Image is a catalog in an image. Only what its tag names is asked for while that stays the same.
type Image struct {
	// Resolve returns the reference by digest that the image has now.
	Resolve func(ctx context.Context) (string, error)
	// Unpack unpacks the folder with the catalog of an image by digest.
	Unpack func(ctx context.Context, pinned, folder string) error
}

// Fetch implements [Origin].
func (i Image) Fetch(ctx context.Context, last Version, scratch string, read func(Source) error) (Version, error) {
	pinned, err := i.Resolve(ctx)
	if err != nil {
		return Version{}, err
	}
	if pinned == last.Reference {
		return last, ErrUnchanged
	}
	if err := i.Unpack(ctx, pinned, scratch); err != nil {
		return Version{}, err
	}
	return Version{Reference: pinned}, read(inRoot(scratch, ""))
}

// Mounted is a catalog in a folder of this machine.
type Mounted struct {
	// Root is a folder that catalogs may be in, and Path that of this one, as an absolute path.
	Root, Path string
}

// Fetch implements [Origin].
func (m Mounted) Fetch(ctx context.Context, last Version, _ string, read func(Source) error) (Version, error) {
	below, err := filepath.Rel(m.Root, m.Path)
	if err != nil || !filepath.IsLocal(below) {
		return Version{}, fmt.Errorf("the folder %s is not below %s", m.Path, m.Root)
	}
	stamp := sha256.New()
	err = withRoot(m.Root, below, func(folder fs.FS) error {
		return fs.WalkDir(folder, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			info, err := fs.Stat(folder, name)
			if err == nil && info.Mode().IsRegular() {
				fmt.Fprintf(stamp, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
	})
	if err != nil {
		return Version{}, fmt.Errorf("reading the folder %s: %w", m.Path, err)
	}
	now := Version{Reference: fmt.Sprintf("folder:%x", stamp.Sum(nil))}
	if now == last {
		return last, ErrUnchanged
	}
	return now, read(inRoot(m.Root, below))
}

// inRoot reads a folder below a root, and follows no link out of that.
func inRoot(root, below string) Source {
	return func(ctx context.Context, visit func(Blob) error) error {
		return withRoot(root, below, func(folder fs.FS) error { return Folder(folder)(ctx, visit) })
	}
}

func withRoot(root, below string, do func(fs.FS) error) error {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer closeRead(opened)
	if below == "" || below == "." {
		return do(opened.FS())
	}
	inner, err := opened.OpenRoot(filepath.FromSlash(path.Clean(filepath.ToSlash(below))))
	if err != nil {
		return err
	}
	defer closeRead(inner)
	return do(inner.FS())
}

// NextPoll is when a catalog is to be asked for again: after its interval and up to a hundredth of it
// more, which is another one for each catalog and each time, so that not all ask at once.
func NextPoll(name string, checked time.Time, interval time.Duration) time.Time {
	hash := fnv.New32a()
	fmt.Fprintf(hash, "%s %d", name, checked.UnixNano())
	jitter := time.Duration(float64(interval) / 100 * float64(hash.Sum32()) / (1 << 32))
	return checked.Add(interval + jitter)
}

// ConfigsFolder is the folder of an image with the catalog, by its labels.
func ConfigsFolder(labels map[string]string) (string, error) {
	if folder := labels[ConfigsLabel]; strings.Trim(folder, "/") != "" {
		return folder, nil
	}
	return "", fmt.Errorf("it is no catalog: it does not have the label %s", ConfigsLabel)
}
