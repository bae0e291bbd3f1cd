// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// whiteout begins the names of entries that delete what layers below have, and opaque is the name of
// one that deletes all of its folder.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// tree is the part of an image that is kept, while its layers are applied. It never follows a link:
// links are files that are copied at the end.
type tree struct {
	// stopped is why the pull is to end, or nil.
	stopped func() error
	root    *os.Root
	// keep is the folder of the image that becomes the root; empty is all.
	keep   string
	limits Limits

	// layer is the number of the one at hand, compressed what is read of it and plain what comes
	// out; read is what came out of those before.
	layer             int
	compressed, plain *meter
	read              int64
	// entries is what is kept, by path below keep.
	entries map[string]entry
	// seen counts entries of all layers, effective those that matter, and written their bytes.
	seen, effective int
	written         int64
}

// entry is something that is kept. A link is not on disk before the end.
type entry struct {
	layer  int
	folder bool
	link   string
	size   int64
}

func (t *tree) applyTar(in io.Reader) error {
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, tar.ErrHeader) {
			return refuse("a layer is no tar archive, or is broken")
		}
		if err != nil {
			return err
		}
		t.seen++
		if t.seen > t.limits.Entries {
			return refuse("its layers have more than %d entries", t.limits.Entries)
		}
		if err := t.apply(header, archive); err != nil {
			return err
		}
	}
}

// apply takes one entry of a layer.
func (t *tree) apply(header *tar.Header, content io.Reader) error {
	if len(header.Name) > 1024 {
		return refuse("a name of more than 1024 characters begins with %q", header.Name[:80])
	}
	if slices.Contains(strings.Split(header.Name, "/"), "..") {
		return refuse("the name %q has .. in it", header.Name)
	}
	whole := strings.Trim(path.Clean("/"+header.Name), "/")
	if whole == "" && header.Typeflag == tar.TypeDir {
		return nil
	}
	if base := path.Base(whole); strings.HasPrefix(base, whiteout) {
		return t.applyWhiteout(path.Dir(whole), base)
	}
	name, inside := t.below(whole)
	if !inside {
		if t.keep == whole || isBelow(t.keep, whole) {
			if header.Typeflag == tar.TypeDir {
				return nil
			}
			return refuse("%q is no folder, and %q should be in it", header.Name, "/"+t.keep)
		}
		return nil
	}
	if path.IsAbs(header.Name) {
		return refuse("the name %q is absolute", header.Name)
	}
	t.effective++
	if t.effective > t.limits.Files {
		return refuse("it has more than %d files", t.limits.Files)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return t.makeFolder(name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return t.writeFile(name, header.Size, content)
	case tar.TypeSymlink:
		if path.IsAbs(header.Linkname) {
			return refuse("%q is a link to the absolute name %q", name, header.Linkname)
		}
		return t.addLink(name, path.Clean(path.Dir(name)+"/"+header.Linkname))
	case tar.TypeLink:
		target, inside := t.below(strings.Trim(path.Clean("/"+header.Linkname), "/"))
		if !inside {
			return refuse("%q is a link to %q, which is not in the folder", name, header.Linkname)
		}
		return t.addLink(name, target)
	}
	return refuse("%q is neither a file nor a folder (type %q)", name, header.Typeflag)
}

// below is a path of the image below the folder that is kept.
func (t *tree) below(whole string) (string, bool) {
	if t.keep == "" {
		return whole, whole != ""
	}
	return strings.CutPrefix(whole, t.keep+"/")
}

// applyWhiteout deletes what layers below have, and nothing of the same layer.
func (t *tree) applyWhiteout(folder, base string) error {
	target := folder
	if base != opaque {
		target = path.Join(folder, strings.TrimPrefix(base, whiteout))
	}
	target = strings.TrimPrefix(target, ".")
	name, inside := t.below(target)
	switch {
	case inside:
	case target == "" || t.keep == target || isBelow(t.keep, target):
		name = ""
	default:
		return nil
	}
	t.effective++
	if t.effective > t.limits.Files {
		return refuse("it has more than %d files", t.limits.Files)
	}
	return t.remove(name, t.layer)
}

// remove deletes a path and what is below it, as far as it is from layers before one.
func (t *tree) remove(name string, before int) error {
	if _, exists := t.entries[name]; !exists && name != "" {
		return nil // what is below something has it among the entries, too
	}
	var gone []string
	for other, found := range t.entries {
		if isBelow(other, name) && found.layer < before {
			gone = append(gone, other)
		}
	}
	slices.Sort(gone)
	for _, other := range slices.Backward(gone) {
		found := t.entries[other]
		t.written -= found.size
		delete(t.entries, other)
		if found.link != "" {
			continue
		}
		if err := t.root.Remove(other); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder and those above it, where a file of a layer below may stand.
func (t *tree) makeFolder(name string) error {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part := name[:i]
		found, exists := t.entries[part]
		if exists && found.folder {
			found.layer = t.layer
			t.entries[part] = found
			continue
		}
		if exists {
			if err := t.remove(part, t.layer+1); err != nil {
				return err
			}
		}
		if err := t.root.Mkdir(part, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := t.put(part, entry{layer: t.layer, folder: true}); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) put(name string, one entry) error {
	t.entries[name] = one
	if len(t.entries) > t.limits.Files {
		return refuse("it has more than %d files", t.limits.Files)
	}
	return nil
}

// place makes room for a file: its folder is there, and nothing has its name.
func (t *tree) place(name string) error {
	if parent := path.Dir(name); parent != "." {
		if err := t.makeFolder(parent); err != nil {
			return err
		}
	}
	return t.remove(name, t.layer+1)
}

func (t *tree) writeFile(name string, size int64, content io.Reader) error {
	if size > t.limits.File {
		return refuse("%q has %d bytes, more than %d", name, size, t.limits.File)
	}
	if err := t.place(name); err != nil {
		return err
	}
	if t.written+size > t.limits.Unpacked {
		return refuse("it has more than %d bytes, at %q", t.limits.Unpacked, name)
	}
	out, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, content, size)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	t.written += size
	return t.put(name, entry{layer: t.layer, size: size})
}

func (t *tree) addLink(name, target string) error {
	if target == ".." || strings.HasPrefix(target, "../") {
		return refuse("%q is a link to %q, which is not in the folder", name, target)
	}
	if err := t.place(name); err != nil {
		return err
	}
	return t.put(name, entry{layer: t.layer, link: target})
}

// resolveLinks copies the files that links lead to.
func (t *tree) resolveLinks() error {
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		found := t.entries[name]
		if found.link == "" {
			continue
		}
		target, err := t.follow(name)
		if err != nil {
			return err
		}
		if err := t.copy(target, name); err != nil {
			return err
		}
	}
	return nil
}

// follow finds the file that a link leads to, over other links.
func (t *tree) follow(name string) (string, error) {
	at := name
	for range 8 {
		found, exists := t.entries[at]
		switch {
		case !exists:
			return "", refuse("%q is a link to %q, which does not exist", name, at)
		case found.folder:
			return "", refuse("%q is a link to the folder %q, and only links to files are followed", name, at)
		case found.link == "":
			return at, nil
		}
		at = found.link
	}
	return "", refuse("%q is a link to %q, and so on in a circle", name, t.entries[name].link)
}

func (t *tree) copy(from, to string) error {
	size := t.entries[from].size
	t.written += size
	if t.written > t.limits.Unpacked {
		return refuse("it has more than %d bytes, at %q", t.limits.Unpacked, to)
	}
	in, err := t.root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := t.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("following a link: %w", err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
