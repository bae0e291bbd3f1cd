// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// chartFS is a chart named sample in the folder charts/sample, with these files.
func chartFS(files map[string]string) fs.FS {
	all := map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: sample\nversion: 0.0.1\nappVersion: 0.0.2\n",
		"values.yaml": "who: world\n",
	}
	maps.Copy(all, files)
	fsys := fstest.MapFS{}
	for name, text := range all {
		fsys["charts/sample/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func load(t *testing.T, files map[string]string) *Chart {
	t.Helper()
	c, err := Load(Source{FS: chartFS(files), Dir: "charts/sample"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad_Version(t *testing.T) {
	cases := map[string]struct {
		reason string
		source Source
		want   [3]string
	}{
		"FromChart": {
			reason: "an empty version keeps that of Chart.yaml",
			source: Source{Dir: "charts/sample"},
			want:   [3]string{"sample", "0.0.1", "0.0.2"},
		},
		"FromSource": {
			reason: "the source's versions win, as the charts of a Go module have none of their own",
			source: Source{Dir: "charts/sample/", Version: "1.2.3", AppVersion: "4.5.6"},
			want:   [3]string{"sample", "1.2.3", "4.5.6"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.source.FS = chartFS(nil)
			tc.source.Dir = strings.TrimSuffix(tc.source.Dir, "/")
			c, err := Load(tc.source)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, [3]string{c.Name(), c.Version(), c.AppVersion()}); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLoad_Errors(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		dir    string
		want   []string
		is     error
	}{
		"NoFolder": {
			reason: "a folder that is not there is named",
			dir:    "charts/other",
			want:   []string{"charts/other"},
			is:     fs.ErrNotExist,
		},
		"NoChartYAML": {
			reason: "a folder without Chart.yaml is no chart",
			dir:    "charts",
			want:   []string{"charts", "Chart.yaml"},
		},
		"BadValues": {
			reason: "values that are no YAML are named",
			files:  map[string]string{"values.yaml": "a: [\n"},
			want:   []string{"charts/sample", "values.yaml"},
		},
		"DeclaredDependency": {
			reason: "a dependency would be rendered without its condition",
			files:  map[string]string{"Chart.yaml": "apiVersion: v2\nname: sample\nversion: 0.0.1\ndependencies:\n- name: other\n  version: 0.0.1\n"},
			want:   []string{"dependencies"},
		},
		"FoundDependency": {
			reason: "a chart below charts/ is a dependency too",
			files:  map[string]string{"charts/other/Chart.yaml": "apiVersion: v2\nname: other\nversion: 0.0.1\n"},
			want:   []string{"dependencies"},
		},
		"TooLarge": {
			reason: "a chart that no revision could hold is not read to its end",
			files:  map[string]string{"files/big": strings.Repeat("x", MaxChartBytes)},
			want:   []string{"bytes"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := tc.dir
			if dir == "" {
				dir = "charts/sample"
			}
			c, err := Load(Source{FS: chartFS(tc.files), Dir: dir})
			if err == nil {
				t.Fatalf("%s: got chart %s, want an error", tc.reason, c.Name())
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q does not name %q", tc.reason, err, want)
				}
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%s: error %q does not wrap %q", tc.reason, err, tc.is)
			}
		})
	}
}

func TestChart_File(t *testing.T) {
	c := load(t, map[string]string{"files/a.txt": "\ufefftext"})
	got, err := c.File("files/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "text" {
		t.Errorf("got %q, want the text without its byte order mark", got)
	}
	if _, err := c.File("files/b.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: got error %v, want fs.ErrNotExist", err)
	}
}
