// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// limits bound what a catalog can make the manager hold and write.
type limits struct {
	// catalog and blob are bytes.
	catalog int64
	blob    int
	// values bounds lists and objects in one blob, as the parsed form of short values is far larger
	// than their text.
	values  int
	nesting int
	// blobs and packages bound the index.
	blobs, packages int
	// ofPackage are blobs of one package, and kept bytes of what counts in them: all of a package is
	// in memory at a time.
	ofPackage, kept int
}

var defaultLimits = limits{
	catalog: 512 << 20, blob: 16 << 20, values: 1 << 19, nesting: 64,
	blobs: 250_000, packages: 20_000, ofPackage: 10_000, kept: 8 << 20,
}

// visitor gets the blobs of a catalog, one after the other. Its error ends the reading.
type visitor func(Blob) error

// Source hands the blobs of a catalog to a function, until that returns an error.
type Source func(ctx context.Context, visit func(Blob) error) error

// Folder reads the files of a folder and those below, except for what files named .indexignore
// leave out. Files that are links are followed, as volumes of ConfigMaps have them: the FS has to
// confine them, as that of [os.Root] does.
func Folder(fsys fs.FS) Source {
	return func(ctx context.Context, visit func(Blob) error) error {
		return readFolder(ctx, fsys, defaultLimits, visit)
	}
}

// Stream reads one stream of JSON objects or YAML documents.
func Stream(in io.Reader) Source {
	return func(ctx context.Context, visit func(Blob) error) error {
		return readStream(ctx, &countingReader{in: in, left: defaultLimits.catalog, limit: defaultLimits.catalog}, "", defaultLimits, visit)
	}
}

func readFolder(ctx context.Context, fsys fs.FS, l limits, visit visitor) error {
	bytesRead := &countingReader{left: l.catalog, limit: l.catalog}
	var patterns []ignorePattern
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the catalog: %w", err)
		}
		if name != "." && (strings.HasPrefix(entry.Name(), "..") || ignores(patterns, name, entry.IsDir())) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			below, err := readIgnore(fsys, name)
			patterns = append(patterns, below...)
			return err
		}
		return readFile(ctx, fsys, name, bytesRead, l, visit)
	})
}

// readIgnore reads the ignore file of a folder, if it has one.
func readIgnore(fsys fs.FS, folder string) ([]ignorePattern, error) {
	name := path.Join(folder, ignoreFile)
	file, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	defer closeRead(file)
	text, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading %s of the catalog: %w", name, err)
	}
	return parseIgnore(folder, string(text)), nil
}

func readFile(ctx context.Context, fsys fs.FS, name string, bytesRead *countingReader, l limits, visit visitor) error {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	defer closeRead(file)
	bytesRead.in = file
	if err := readStream(ctx, bytesRead, name, l, visit); err != nil {
		return fmt.Errorf("reading %s of the catalog: %w", name, err)
	}
	return nil
}

// objects are what a stream is split into.
type objects interface {
	next() (raw []byte, line int, err error)
}

// readStream hands on what one file or stream has, and goes on behind objects that are broken.
func readStream(ctx context.Context, in io.Reader, name string, l limits, visit visitor) error {
	buffered := bufio.NewReaderSize(in, 64<<10)
	format, err := formatOf(buffered, l)
	for err == nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var raw []byte
		var line int
		raw, line, err = format.next()
		broken := &brokenError{}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &broken):
			problem := &Problem{Package: guessPackage(raw), File: name, Line: line, Rule: "parse", Fatal: true, Message: broken.text}
			err = visit(Blob{Package: problem.Package, File: name, Line: line, Problem: problem})
		case err == nil:
			blob, problem := newBlob(raw)
			blob.File, blob.Line, blob.Problem = name, line, problem
			if problem != nil {
				problem.File, problem.Line = name, line
			}
			err = visit(blob)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// formatOf tells by the first two characters that are no blanks: YAML may begin with a brace, too.
func formatOf(in *bufio.Reader, l limits) (objects, error) {
	brace := false
	for size := 1; ; size++ {
		start, err := in.Peek(size)
		if len(start) < size {
			if errors.Is(err, bufio.ErrBufferFull) || brace && errors.Is(err, io.EOF) {
				return newYAMLDocuments(in, l), nil
			}
			return nil, err
		}
		switch c := start[size-1]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case !brace && c == '{':
			brace = true
		case brace && (c == '"' || c == '}'):
			return newJSONObjects(in, l), nil
		default:
			return newYAMLDocuments(in, l), nil
		}
	}
}

// countingReader ends with an error where a catalog is larger than it may be.
type countingReader struct {
	in          io.Reader
	left, limit int64
}

// Read reads from the file at hand.
func (r *countingReader) Read(into []byte) (int, error) {
	read, err := r.in.Read(into)
	if r.left -= int64(read); r.left < 0 {
		return 0, fmt.Errorf("it has more than %d bytes", r.limit)
	}
	return read, err
}

// closeRead closes what was only read.
func closeRead(file io.Closer) { _ = file.Close() }
