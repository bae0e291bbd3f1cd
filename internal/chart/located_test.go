// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocate(t *testing.T) {
	objects, problems := Locate("a.yaml", []byte(strings.Join([]string{
		"# first", "apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "---", "kind: Broken", "---", "a: [", "---", "",
		"apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "status: {}", "---", "# nothing",
	}, "\n")))
	var got []string
	for _, o := range objects {
		got = append(got, fmt.Sprintf("%s:%d %s", o.File, o.Line, o.Object.GetName()))
		if o.Object.Object["status"] != nil {
			t.Errorf("%s still has a status", o.Object.GetName())
		}
	}
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s:%d problem", p.File, p.Line))
	}
	want := []string{"a.yaml:2 a", "a.yaml:11 a", "a.yaml:6 problem", "a.yaml:8 problem"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestLocate_LineOfTheError(t *testing.T) {
	_, problems := Locate("a.yaml", []byte("kind: A\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: one\n  k: two\n"))
	lines := []int{}
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 8}, lines); diff != "" {
		t.Errorf("the problems stand elsewhere; -want, +got:\n%s", diff)
	}
}
