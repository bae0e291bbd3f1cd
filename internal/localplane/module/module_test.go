// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopiesAreCurrent(t *testing.T) {
	for name, embedded := range map[string][]byte{"go.mod": GoMod, "go.sum": GoSum} {
		want, err := os.ReadFile(filepath.Join("..", "..", "..", "tools", "kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(embedded)); diff != "" {
			t.Errorf("%s.txt is not tools/kubernetes/%s; run go generate ./internal/localplane/...: -want +got\n%s", name, name, diff)
		}
	}
}

func TestVersion(t *testing.T) {
	goMod := []byte("module a\n\nrequire single.example/m v0.1.0\n\nrequire (\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n\nreplace x.example/y => x.example/z v9.9.9\n")
	cases := map[string]struct {
		reason string
		path   string
		want   string
		fails  bool
	}{
		"Block":    {reason: "a requirement in a block is found", path: "k8s.io/kubernetes", want: "v1.2.3"},
		"Single":   {reason: "a requirement on a line of its own is found", path: "single.example/m", want: "v0.1.0"},
		"Replaced": {reason: "a replacement is no requirement", path: "x.example/y", fails: true},
		"Absent":   {reason: "a module that is not required is an error", path: "k8s.io", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Version(goMod, tc.path)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: Version() = %q, %v", tc.reason, got, err)
			}
		})
	}
}
