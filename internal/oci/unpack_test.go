// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// tight are limits that a test reaches with little.
var tight = Limits{Compressed: 1 << 20, Read: 4 << 20, Unpacked: 1000, File: 800, Files: 12, Entries: 30, Ratio: 200}

// file, link and the like are entries of a layer; a file is written "name=content".
func file(text string) tar.Header {
	name, content, _ := strings.Cut(text, "=")
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Uname: content}
}

func folder(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
}

func hardlink(name, target string) tar.Header {
	return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink}
}

func many(count int, name string) []tar.Header {
	var result []tar.Header
	for i := range count {
		result = append(result, file(fmt.Sprintf("%s%d=", name, i)))
	}
	return result
}

// TestUnpack has the files that layers make up, or the words with which they are refused.
func TestUnpack(t *testing.T) {
	for _, test := range []struct {
		name, keep string
		layers     [][]tar.Header
		want       []string
		refused    string
	}{
		{name: "Layers", layers: [][]tar.Header{{file("a=1"), file("b/c=2")}, {file("./a=3"), folder("b"), file("b/d=4")}}, want: []string{"a=3", "b/c=2", "b/d=4"}},
		{name: "Whiteout", layers: [][]tar.Header{{file("a=1"), file("b/c=2"), file("b/d=3")}, {file(".wh.a="), file("b/.wh.c=")}}, want: []string{"b/d=3"}},
		{name: "WhiteoutOfFolder", layers: [][]tar.Header{{file("b/c/d=2"), file("bc=1")}, {file(".wh.b=")}}, want: []string{"bc=1"}},
		{name: "WhiteoutInSameLayer", layers: [][]tar.Header{{file("b/c=1")}, {file("b/d=2"), file(".wh.b="), file("a=3"), file(".wh.a=")}}, want: []string{"a=3", "b/d=2"}},
		{name: "Opaque", layers: [][]tar.Header{{file("b/c=1"), file("b/d/e=1"), file("f=1")}, {file("b/g=2"), file("b/.wh..wh..opq=")}}, want: []string{"b/g=2", "f=1"}},
		{name: "FileOverFolder", layers: [][]tar.Header{{file("a/b=1")}, {file("a=2")}}, want: []string{"a=2"}},
		{name: "FolderOverFile", layers: [][]tar.Header{{file("a=2")}, {file("a/b=1")}}, want: []string{"a/b=1"}},
		{name: "FolderOverLink", layers: [][]tar.Header{{folder("x"), link("a", "x")}, {file("a/b=1")}}, want: []string{"a/b=1"}},
		{name: "Links", layers: [][]tar.Header{{link("a", "b/../c"), link("b/d", "../a"), file("c=1"), hardlink("e", "c")}}, want: []string{"a=1", "b/d=1", "c=1", "e=1"}},
		{name: "Kept", keep: "/configs", layers: [][]tar.Header{{file("bin/sh=1"), link("lib", "/usr/lib"), file("/opt/x=1"), {Name: "dev/null", Typeflag: tar.TypeChar}, file("configs/a=1")}, {file("configs/b=2"), file("configsnot=1")}}, want: []string{"a=1", "b=2"}},
		{name: "KeptIsDeleted", keep: "configs", layers: [][]tar.Header{{file("configs/a=1")}, {file(".wh.configs="), file("configs/b=2")}}, want: []string{"b=2"}},
		{name: "KeptDeep", keep: "a/b", layers: [][]tar.Header{{file("a/b/c=1"), file("a/c=1")}, {file("a/.wh..wh..opq=")}}},

		{name: "DotDot", layers: [][]tar.Header{{file("../x=1")}}, refused: `"../x" has .. in it`},
		{name: "DotDotInside", layers: [][]tar.Header{{file("a/../../x=1")}}, refused: `has .. in it`},
		{name: "DotDotNotKept", keep: "configs", layers: [][]tar.Header{{file("a/../configs/x=1")}}, refused: `has .. in it`},
		{name: "WhiteoutDotDot", layers: [][]tar.Header{{file("../.wh.x=")}}, refused: `has .. in it`},
		{name: "WhiteoutOfDotDot", layers: [][]tar.Header{{file("a=1")}, {file(".wh...=")}}, want: []string{"a=1"}},
		{name: "Absolute", layers: [][]tar.Header{{file("/etc/passwd=1")}}, refused: `"/etc/passwd" is absolute`},
		{name: "LinkToRoot", layers: [][]tar.Header{{link("a", "/")}}, refused: `"a" is a link to the absolute name "/"`},
		{name: "LinkOutside", layers: [][]tar.Header{{link("a/b", "../../c")}}, refused: `"a/b" is a link to "../c", which is not in the folder`},
		{name: "LinkOutOfKept", keep: "configs", layers: [][]tar.Header{{file("secret=1"), link("configs/a", "../secret")}}, refused: `which is not in the folder`},
		{name: "HardlinkOutOfKept", keep: "configs", layers: [][]tar.Header{{file("secret=1"), hardlink("configs/a", "secret")}}, refused: `which is not in the folder`},
		{name: "LinkToFolder", layers: [][]tar.Header{{file("b/c=1"), link("a", "b")}}, refused: `link to the folder "b"`},
		{name: "LinkToNothing", layers: [][]tar.Header{{link("a", "b")}}, refused: `"b", which does not exist`},
		{name: "LinkInCircle", layers: [][]tar.Header{{link("a", "b"), link("b", "a")}}, refused: `circle`},
		{name: "KeptIsLink", keep: "configs", layers: [][]tar.Header{{link("configs", "/etc")}}, refused: `"configs" is no folder`},
		{name: "KeptOutside", keep: "../etc", layers: [][]tar.Header{{file("a=1")}}, refused: `"../etc" is not inside`},
		{name: "Device", layers: [][]tar.Header{{{Name: "null", Typeflag: tar.TypeChar}}}, refused: `"null" is neither a file nor a folder`},
		{name: "Fifo", layers: [][]tar.Header{{{Name: "pipe", Typeflag: tar.TypeFifo}}}, refused: `"pipe" is neither a file nor a folder`},
		{name: "LargeFile", layers: [][]tar.Header{{file("large=" + strings.Repeat("x", 801))}}, refused: `"large" has 801 bytes, more than 800`},
		{name: "LargeInAll", layers: [][]tar.Header{{file("a=" + strings.Repeat("x", 600))}, {file("b=" + strings.Repeat("x", 600))}}, refused: `more than 1000 bytes, at "b"`},
		{name: "LargeByLinks", layers: [][]tar.Header{{file("a=" + strings.Repeat("x", 400)), link("b", "a"), link("c", "a")}}, refused: `more than 1000 bytes, at "c"`},
		{name: "LargeButReplaced", layers: [][]tar.Header{{file("a=" + strings.Repeat("x", 600))}, {file("a=" + strings.Repeat("y", 600))}}, want: []string{"a=" + strings.Repeat("y", 600)}},
		{name: "ManyFiles", layers: [][]tar.Header{many(13, "f")}, refused: "more than 12 files"},
		{name: "ManyFolders", layers: [][]tar.Header{{file("1/2/3/4/5/6/7/8/9/10/11/12/13=")}}, refused: "more than 12 files"},
		{name: "ManyWhiteouts", layers: [][]tar.Header{many(13, ".wh.f")}, refused: "more than 12 files"},
		{name: "ManyEntries", keep: "configs", layers: [][]tar.Header{many(31, "other/f")}, refused: "more than 30 entries"},
		{name: "LongName", layers: [][]tar.Header{{file(strings.Repeat("x/", 600) + "x=")}}, refused: "a name of more than 1024 characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			outside := t.TempDir()
			inside := filepath.Join(outside, "inside")
			if err := os.Mkdir(inside, 0o700); err != nil {
				t.Fatal(err)
			}
			var layers [][]byte
			for _, entries := range test.layers {
				var contents []string
				for i := range entries {
					contents = append(contents, entries[i].Uname)
					entries[i].Uname = ""
				}
				layers = append(layers, archive(t, entries, contents))
			}
			err := unpackAll(t, inside, Unpack{keep: test.keep, Limits: tight}, layers...)
			if test.refused != "" {
				wantKind(t, err, Refused)
				if err != nil && !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %q, want %q", err, test.refused)
				}
			} else if diff := cmp.Diff(test.want, filesOf(t, inside)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if found, err := os.ReadDir(outside); err != nil || len(found) != 1 {
				t.Errorf("outside of the folder there is %v, %v", found, err)
			}
		})
	}
}

// unpackAll applies layers that are on this machine.
func unpackAll(t *testing.T, into string, unpack Unpack, contents ...[]byte) error {
	t.Helper()
	var descriptors []v1.Descriptor
	var layers []v1.Layer
	for _, content := range contents {
		layer := static.NewLayer(content, types.OCILayer)
		digest, err := layer.Digest()
		if err != nil {
			t.Fatal(err)
		}
		descriptors = append(descriptors, v1.Descriptor{MediaType: types.OCILayer, Size: int64(len(content)), Digest: digest})
		layers = append(layers, layer)
	}
	if err := unpack.layers(t.Context(), into, descriptors, layers); err != nil {
		return explain(err, "image", "host")
	}
	return nil
}

// filesOf lists what is in a folder, each file with its content.
func filesOf(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			t.Errorf("%s is no regular file", path)
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files = append(files, filepath.ToSlash(name)+"="+string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestUnpack_Compression reads each kind of compression, and refuses what grows too much.
func TestUnpack_Compression(t *testing.T) {
	compressors := map[string]func(io.Writer) io.WriteCloser{
		"Gzip": func(out io.Writer) io.WriteCloser { return gzip.NewWriter(out) },
		"Zstd": func(out io.Writer) io.WriteCloser {
			writer, err := zstd.NewWriter(out)
			if err != nil {
				t.Fatal(err)
			}
			return writer
		},
	}
	for name, compressor := range compressors {
		t.Run(name, func(t *testing.T) {
			out := &bytes.Buffer{}
			writer := compressor(out)
			if _, err := writer.Write(archive(t, []tar.Header{file("a=")}, nil)); err != nil {
				t.Fatal(err)
			}
			if err := writer.Close(); err != nil {
				t.Fatal(err)
			}
			into := t.TempDir()
			if err := unpackAll(t, into, Unpack{Limits: BundleLimits}, out.Bytes()); err != nil {
				t.Fatal(err)
			}
			wantFile(t, into, "a", "")

			// 10 GiB of zeros, of which no test makes more than is read of them.
			bomb := &bytes.Buffer{}
			writer = compressor(bomb)
			if _, err := writer.Write(bombHeader(t)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(writer, zeros{}, 64<<20); err != nil {
				t.Fatal(err)
			}
			if err := writer.Close(); err != nil {
				t.Fatal(err)
			}
			for keep, want := range map[string]string{"": "has 10737418240 bytes", "configs": "more than 200 bytes come out of each byte"} {
				err := unpackAll(t, t.TempDir(), Unpack{keep: keep, Limits: CatalogLimits}, bomb.Bytes())
				wantKind(t, err, Refused)
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q", err, want)
				}
			}
		})
	}
}

// TestUnpack_RefusedCompression names a compression that is not supported, and what to do.
func TestUnpack_RefusedCompression(t *testing.T) {
	for name, begins := range map[string]string{"xz": "\xfd7zXZ\x00\x00\x04", "bzip2": "BZh91AY&SY", "lz4": "\x04\x22\x4d\x18d@"} {
		err := unpackAll(t, t.TempDir(), Unpack{Limits: BundleLimits}, []byte(begins))
		wantKind(t, err, Refused)
		if want := "a layer is compressed with " + name + ", which is not supported: build the image with gzip or zstd"; err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// bombHeader begins a file of 10 GiB.
func bombHeader(t *testing.T) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	if err := tar.NewWriter(out).WriteHeader(&tar.Header{Name: "other/zeros", Typeflag: tar.TypeReg, Size: 10 << 30}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
