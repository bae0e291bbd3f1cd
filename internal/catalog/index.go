// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The files of a catalog that has been read.
const (
	// blobsFile has all blobs, one in a line.
	blobsFile = "blobs.jsonl"
	// packagesFile has a [record] of each package, one in a line.
	packagesFile = "packages.jsonl"
	// indexFile says where each record is. It is written last: a folder that has it is complete.
	indexFile = "index.json"
)

// format is raised when an older index cannot be read any more, or says less.
const format = 3

// span is a part of a file.
type span struct {
	Offset int64 `json:"o"`
	Length int   `json:"n"`
}

// packageRef is where the record of a package is.
type packageRef struct {
	span

	// Stamp is from the digest of what the record says of the package, and not of where its blobs are.
	Stamp uint64 `json:"s"`
}

// blobRef is where a blob of a package is.
type blobRef struct {
	span

	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`
}

// record is what the index has about a package.
type record struct {
	Package Package   `json:"package"`
	Fatal   []Problem `json:"fatal,omitempty"`
	Blobs   []blobRef `json:"blobs"`
}

// index is what stays in memory of a catalog.
type index struct {
	Format   int                   `json:"format"`
	Packages map[string]packageRef `json:"packages"`
	Blobs    int                   `json:"blobs"`
	Size     int64                 `json:"size"`
	Digest   string                `json:"digest"`
	Problems []Problem             `json:"problems,omitempty"`
}

// sighting is a blob while a catalog is read.
type sighting struct {
	span
	place

	schema, name string
}

// builder writes the index of a catalog.
type builder struct {
	limits    limits
	out       *bufio.Writer
	index     index
	sightings map[string][]sighting
	problems  map[string][]Problem
	// inFile are the packages that the file at hand has blobs of, and orphans its problems that
	// say nothing about which package they are of.
	file    string
	inFile  map[string]bool
	orphans []Problem
	compact bytes.Buffer
	digest  hash.Hash
}

// Build reads a catalog and writes it with its index to a folder that exists.
func Build(ctx context.Context, folder string, source Source) (*Content, error) {
	return build(ctx, folder, source, defaultLimits)
}

func build(ctx context.Context, folder string, source Source, l limits) (*Content, error) {
	b := &builder{
		limits: l, index: index{Format: format, Packages: map[string]packageRef{}},
		sightings: map[string][]sighting{}, problems: map[string][]Problem{}, inFile: map[string]bool{}, digest: sha256.New(),
	}
	path := filepath.Join(folder, blobsFile)
	err := writeFile(path, func(out *bufio.Writer) error {
		b.out = out
		return source(ctx, b.add)
	})
	if err != nil {
		return nil, err
	}
	b.endFile()
	b.index.Digest = fmt.Sprintf("sha256:%x", b.digest.Sum(nil))
	if err := b.writePackages(ctx, folder); err != nil {
		return nil, err
	}
	err = writeFile(filepath.Join(folder, indexFile), func(out *bufio.Writer) error {
		return json.NewEncoder(out).Encode(b.index)
	})
	if err != nil {
		return nil, err
	}
	return &Content{folder: folder, index: b.index}, nil
}

// add takes one blob.
func (b *builder) add(blob Blob) error {
	if blob.File != b.file {
		b.endFile()
		b.file = blob.File
	}
	b.index.Blobs++
	if b.index.Blobs > b.limits.blobs {
		return fmt.Errorf("reading the catalog: it has more than %d blobs", b.limits.blobs)
	}
	if blob.Problem != nil {
		b.addProblem(*blob.Problem)
		return nil
	}
	if blob.Package == "" {
		if known(blob.Schema) {
			b.addProblem(Problem{File: blob.File, Line: blob.Line, Rule: "no-package", Message: fmt.Sprintf("the %s %q belongs to no package", brief(blob.Schema), brief(blob.Name))})
		}
		return nil
	}
	b.inFile[blob.Package] = true
	seen, err := b.write(blob)
	if err != nil {
		return err
	}
	if sightings := b.sightings[blob.Package]; len(sightings) <= b.limits.ofPackage {
		b.sightings[blob.Package] = append(sightings, seen)
	}
	if len(b.sightings) > b.limits.packages {
		return fmt.Errorf("reading the catalog: it has more than %d packages", b.limits.packages)
	}
	return nil
}

func known(schema string) bool {
	return schema == SchemaPackage || schema == SchemaChannel || schema == SchemaBundle || schema == SchemaDeprecations
}

func (b *builder) write(blob Blob) (sighting, error) {
	b.compact.Reset()
	if b.compact.Cap() > 1<<20 {
		b.compact = bytes.Buffer{}
	}
	b.compact.Grow(len(blob.JSON) + 1)
	if err := json.Compact(&b.compact, blob.JSON); err != nil {
		return sighting{}, fmt.Errorf("reading the catalog: %w", err)
	}
	b.compact.WriteByte('\n')
	seen := sighting{span: span{Offset: b.index.Size, Length: b.compact.Len()}, place: place{blob.File, blob.Line}, schema: schemaName(blob.Schema), name: blob.Name}
	if b.index.Size += int64(seen.Length); b.index.Size > b.limits.catalog {
		return sighting{}, fmt.Errorf("reading the catalog: it has more than %d bytes", b.limits.catalog)
	}
	_, err := io.MultiWriter(b.digest, b.out).Write(b.compact.Bytes())
	return seen, err
}

// schemaName is one text for all blobs of a schema, as there are many.
func schemaName(schema string) string {
	for _, one := range []string{SchemaBundle, SchemaChannel, SchemaPackage, SchemaDeprecations} {
		if schema == one {
			return one
		}
	}
	return schema
}

func (b *builder) addProblem(p Problem) {
	if p.Package == "" {
		if len(b.orphans) < mostProblems {
			b.orphans = append(b.orphans, p)
		}
		return
	}
	b.inFile[p.Package] = true
	if len(b.problems[p.Package]) < mostProblems {
		b.problems[p.Package] = append(b.problems[p.Package], p)
	}
}

// endFile finds the package of blobs that do not say it: when a file is all about one package, so
// are they.
func (b *builder) endFile() {
	if len(b.inFile) == 1 {
		for name := range b.inFile {
			for _, p := range b.orphans {
				p.Package = name
				b.addProblem(p)
			}
		}
		b.orphans = nil
	}
	for _, p := range b.orphans {
		if len(b.index.Problems) < mostProblems {
			p.Fatal = false // there is no package that it could make unusable
			b.index.Problems = append(b.index.Problems, p)
		}
	}
	clear(b.inFile)
	b.orphans = nil
}

// writePackages decodes and validates the packages, with one of them in memory at a time.
func (b *builder) writePackages(ctx context.Context, folder string) error {
	in, err := os.Open(filepath.Join(folder, blobsFile))
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	defer in.Close()
	names := maps.Clone(b.problems)
	for name := range b.sightings {
		names[name] = nil
	}
	return writeFile(filepath.Join(folder, packagesFile), func(out *bufio.Writer) error {
		var offset int64
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one, err := b.record(in, name)
			if err != nil {
				return err
			}
			at, err := one.write(out)
			if err != nil {
				return err
			}
			at.Offset = offset
			b.index.Packages[name] = at
			offset += int64(at.Length)
		}
		return nil
	})
}

// write writes the parts of a record in a line, each of which is only encoded once as it may be large.
// The stamp is another one when the package is.
func (r record) write(out io.Writer) (packageRef, error) {
	at, digest := packageRef{}, sha256.New()
	for _, part := range []struct {
		before string
		value  any
		hashed bool
	}{{`{"package":`, r.Package, true}, {`,"fatal":`, r.Fatal, true}, {`,"blobs":`, r.Blobs, false}, {"}\n", nil, false}} {
		raw := []byte{}
		if part.value != nil {
			var err error
			if raw, err = json.Marshal(part.value); err != nil {
				return at, err
			}
		}
		if part.hashed {
			digest.Write(raw)
		}
		written, err := fmt.Fprintf(out, "%s%s", part.before, raw)
		if err != nil {
			return at, err
		}
		at.Length += written
	}
	at.Stamp = binary.BigEndian.Uint64(digest.Sum(nil))
	return at, nil
}

// record reads the blobs of a package back.
func (b *builder) record(in io.ReaderAt, name string) (record, error) {
	sightings := b.sightings[name]
	delete(b.sightings, name)
	if len(sightings) > b.limits.ofPackage {
		return tooLarge(name, sightings[0].place, fmt.Sprintf("more than %d blobs", b.limits.ofPackage)), nil
	}
	found := blobs{name: name, room: b.limits.kept}
	one := record{}
	var raw []byte
	for _, seen := range sightings {
		raw = slices.Grow(raw[:0], seen.Length)[:seen.Length]
		if _, err := in.ReadAt(raw, seen.Offset); err != nil {
			return record{}, fmt.Errorf("reading the catalog back: %w", err)
		}
		if !found.add(seen.schema, raw, seen.place) {
			return tooLarge(name, sightings[0].place, fmt.Sprintf("more than %d MiB of channels and bundles, without descriptions and manifests", b.limits.kept>>20)), nil
		}
		one.Blobs = append(one.Blobs, blobRef{span: seen.span, Schema: seen.schema, Name: seen.name})
	}
	found.validate()
	one.Package = found.assemble()
	for _, p := range append(b.problems[name], found.problems...) {
		if p.Fatal {
			one.Fatal = append(one.Fatal, p)
		} else {
			one.Package.Warnings = append(one.Package.Warnings, p)
		}
	}
	return one, nil
}

// tooLarge is a package of which nothing is kept.
func tooLarge(name string, first place, has string) record {
	return record{Package: Package{Name: name}, Fatal: []Problem{{
		Package: name, File: first.file, Line: first.line, Rule: "package-size", Fatal: true,
		Message: fmt.Sprintf("package %q has %s, and is not read", name, has),
	}}}
}

func writeFile(path string, write func(*bufio.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	out := bufio.NewWriterSize(file, 64<<10)
	return errors.Join(write(out), out.Flush(), file.Sync(), file.Close())
}
