// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	got := words(`kubectl patch x -p '{"a": "b c"}' --reason "it is" ''`)
	want := []string{"kubectl", "patch", "x", "-p", `{"a": "b c"}`, "--reason", "it is", ""}
	if !slices.Equal(got, want) {
		t.Errorf("words() = %q, want %q", got, want)
	}
}

func TestSteady(t *testing.T) {
	cases := map[string]struct {
		reason, shown, got string
		same               bool
	}{
		"Ages":    {reason: "ages and widths differ", shown: "NAME  AGE\nweb   3s", got: "NAME  AGE\nweb   12m", same: true},
		"Pods":    {reason: "names of pods do", shown: "istio-csr-5f6b7c8d9-x2x4z", got: "istio-csr-7c8d9f5f6b-abcde", same: true},
		"Retried": {reason: "pods may come before their service account", shown: "15s  Warning  Failed  Pod a/b\n    ErrImagePull\n", got: "16s  Warning  FailedCreate  ReplicaSet a/b\n    Error creating: no\n    service account\n15s  Warning  Failed  Pod a/b\n    ErrImagePull\n", same: true},
		"Waiting": {reason: "a revision may exist already", shown: "Revision 2 does not exist yet; waiting for it.\nError: no", got: "Error: no", same: true},
		"Objects": {reason: "other names do not", shown: "configmap/a created", got: "configmap/b created"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if same := steady(tc.shown) == steady(tc.got); same != tc.same {
				t.Errorf("%s: %q and %q are the same: %v", tc.reason, steady(tc.shown), steady(tc.got), same)
			}
		})
	}
}

// Files are written, commands run in their order, and their output is put in their place.
func TestUpdate(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "```yaml\n# sub/file.yaml\na: b\n```\n```yaml\nshown: only\n```\n```console\n$ kubectl sub/file.yaml\nold\n```\n```sh\nrm -rf x\n```\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("Run", func(t *testing.T) {
		Guide{Path: page, Kubectl: "cat", Kubeconfig: "none", Update: true}.Run(t)
	})
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "```yaml\n# sub/file.yaml\na: b\n```\n```yaml\nshown: only\n```\n```console\n$ kubectl sub/file.yaml\n# sub/file.yaml\na: b\n```\n```sh\nrm -rf x\n```\n"
	if string(got) != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
	t.Run("Again", func(t *testing.T) { Guide{Path: page, Kubectl: "cat", Kubeconfig: "none"}.Run(t) })
}

// What controllers do takes a moment, and commands that wait for it are hard to read.
func TestFollow_LooksAgain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kubectl")
	script := "#!/bin/sh\nif [ -e seen ]; then echo after; else touch seen; echo before; fi\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	r := &reader{Guide: Guide{Kubectl: program}, t: t}
	if text, code := r.follow(command{line: "kubectl get x", shown: "after\n"}); text != "after\n" || code != 0 {
		t.Errorf("it stops at %q with code %d", text, code)
	}
	if text, _ := r.follow(command{line: "kubectl delete x", shown: "other\n"}); text != "after\n" || r.commands != 3 {
		t.Errorf("what changes something is run once: %q, %d commands in all", text, r.commands)
	}
}
