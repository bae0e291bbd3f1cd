// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// small are limits that a test reaches with little.
var small = limits{catalog: 4096, blob: 512, values: 20, nesting: 8, blobs: 10, packages: 3, ofPackage: 9, kept: 4096}

const goodBlob = `{"schema":"olm.package","name":"good","defaultChannel":"a"}` + "\n"

// TestLimits_Blobs has objects that are too much, between two that are read.
func TestLimits_Blobs(t *testing.T) {
	for _, test := range []struct{ name, json, yaml, want string }{
		{
			"Size", `{"schema":"olm.bundle","package":"bad","name":"` + strings.Repeat("x", 600) + `"}`,
			"schema: olm.bundle\npackage: bad\nname: " + strings.Repeat("x", 600), "has more than 512 bytes",
		},
		{
			"Nesting", `{"schema":"olm.bundle","package":"bad","x":[[[[[[[[]]]]]]]]}`,
			"schema: olm.bundle\npackage: bad\nx: [[[[[[[[]]]]]]]]", "is nested",
		},
		{
			"Values", `{"schema":"olm.bundle","package":"bad","x":[1` + strings.Repeat(",1", 30) + `]}`,
			"schema: olm.bundle\npackage: bad\nx: [1" + strings.Repeat(",1", 30) + "]", "has more than 20 values",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, text := range []string{goodBlob + test.json + "\n" + goodBlob, "---\n" + test.yaml + "\n--- " + goodBlob + "--- " + goodBlob} {
				var good int
				var problems []Problem
				err := readStream(t.Context(), strings.NewReader(text), "f", small, func(blob Blob) error {
					if blob.Problem != nil {
						problems = append(problems, *blob.Problem)
					} else if blob.Package == "good" {
						good++
					}
					return nil
				})
				if err != nil || good != 2 || len(problems) != 1 || problems[0].Package != "bad" || !problems[0].Fatal || !strings.Contains(problems[0].Message, test.want) {
					t.Errorf("%d read, problems %v, error %v; want 2, and one of package bad with %q", good, problems, err, test.want)
				}
			}
		})
	}
}

// TestLimits_Aliases counts a text as often as it is referred to, before that costs memory.
func TestLimits_Aliases(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"Fits":     {"schema: x\npackage: p\na: &a text & more\nb: [*a, *a]\n", ""},
		"TooLarge": {"schema: x\npackage: p\na: &a " + strings.Repeat("x", 60) + "\nb: [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n", "more than 512 bytes with its aliases"},
		"Bomb":     {"schema: x\npackage: p\na: &a [xxxxxxxx, xxxxxxxx]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: &d [*c, *c, *c]\n", "more than 512 bytes with its aliases"},
		"Circle":   {"schema: x\npackage: p\na: &a [*a]\n", "contains itself"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := small
			limits.values = 30
			got := ""
			err := readStream(t.Context(), strings.NewReader(test.text), "f", limits, func(blob Blob) error {
				if blob.Problem != nil {
					got += blob.Problem.Message
				} else if blob.JSON != nil {
					got += "read"
				}
				return nil
			})
			if want := wanted(test.want); err != nil || !strings.Contains(got, want) {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func wanted(problem string) string {
	if problem == "" {
		return "read"
	}
	return problem
}

// TestLimits_Catalog has what ends the reading of a whole catalog.
func TestLimits_Catalog(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	lines := func(count int, packageName string) io.Reader {
		return strings.NewReader(strings.Repeat(`{"schema":"olm.channel","package":"`+packageName+`","name":"a"}`+"\n", count))
	}
	for _, test := range []struct {
		name string
		ctx  context.Context
		in   io.Reader
		want string
	}{
		{"Size", t.Context(), strings.NewReader(strings.Repeat(" ", 5000)), "more than 4096 bytes"},
		{"Blobs", t.Context(), lines(11, "p"), "more than 10 blobs"},
		{"Packages", t.Context(), io.MultiReader(lines(1, "p"), lines(1, "q"), lines(1, "r"), lines(1, "s")), "more than 3 packages"},
		{"HalfABody", t.Context(), io.MultiReader(lines(2, "p"), iotest.ErrReader(io.ErrUnexpectedEOF)), "unexpected EOF"},
		{"Cancelled", cancelled, lines(2, "p"), "context canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := func(ctx context.Context, visit func(Blob) error) error {
				return readStream(ctx, &countingReader{in: test.in, left: small.catalog, limit: small.catalog}, "", small, visit)
			}
			content, err := build(test.ctx, t.TempDir(), source, small)
			if err == nil || content != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", content, err, test.want)
			}
		})
	}
}

// TestContent looks packages up in a catalog that another process has read.
func TestContent(t *testing.T) {
	folder := t.TempDir()
	if _, err := Open(folder); err == nil {
		t.Error("opened a folder without a catalog")
	}
	bundle := `{"schema":"olm.bundle","package":"p","name":"p.v1","properties":[{"type":"olm.csv.metadata","value":{"description":"<large>"}}]}`
	files := fstest.MapFS{"catalog.json": {Data: []byte(goodBlob + bundle)}}
	if _, err := Build(t.Context(), folder, Folder(files)); err != nil {
		t.Fatal(err)
	}
	content, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"good", "p"}, content.Packages()); diff != "" {
		t.Error(diff)
	}
	p, err := content.Package("p")
	if err != nil || len(p.Bundles) != 1 || len(p.Bundles[0].Properties) != 0 {
		t.Errorf("got %+v, %v; want a bundle without its large property", p, err)
	}
	whole, err := content.Blob("p", SchemaBundle, "p.v1")
	if err != nil || strings.TrimSpace(string(whole)) != bundle {
		t.Errorf("got %s, %v; want the bundle as it is", whole, err)
	}
	if _, err := content.Package("q"); !errors.Is(err, ErrNoPackage) {
		t.Errorf("got %v for a package that there is not", err)
	}
}

// TestFolder_Links follows links to files, as volumes have them, and reads none of their targets twice.
func TestFolder_Links(t *testing.T) {
	files := fstest.MapFS{
		"..2026_11/catalog.json": {Data: []byte(goodBlob)},
		"catalog.json":           {Data: []byte(goodBlob)},
	}
	read := 0
	if err := Folder(files)(t.Context(), func(Blob) error { read++; return nil }); err != nil || read != 1 {
		t.Errorf("read %d blobs, %v", read, err)
	}
}

// FuzzStream holds the reader to what any input may do: blobs are JSON objects, lines rise, and
// what encoding/json reads is read.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{goodBlob + goodBlob, "a: b\n---\n- c", `{"schema":"x`, "{\n{\n]", `{"a":"\"}"}{`, "--- {}\n---\n# c\n", "\xff\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, good := 0, 0
		err := readStream(t.Context(), bytes.NewReader(data), "", small, func(blob Blob) error {
			if blob.Line < line {
				t.Errorf("line %d follows on %d", blob.Line, line)
			}
			line = blob.Line
			if blob.Problem == nil {
				good++
				if !json.Valid(blob.JSON) || blob.JSON[0] != '{' || blob.Schema == "" {
					t.Errorf("%q is no blob", blob.JSON)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
