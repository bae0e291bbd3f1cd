// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// scripts are the scenarios, by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/rollout/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding the scripts: %d found, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	return texts
}

// TestEngine_Rollout plays every scenario and compares what is printed.
func TestEngine_Rollout(t *testing.T) {
	for name, want := range scripts(t) {
		t.Run(name, func(t *testing.T) {
			got, err := revisionstest.Replay(want, revisionstest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if *revisions.Update {
				if err := os.WriteFile("testdata/rollout/"+name+".txt", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the scenario goes another way; read it, then run go test with -update (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEngine_RolloutInAnyOrder plays every scenario with the objects of a phase in
// other orders and several at once. The same must come of it, in whatever order.
func TestEngine_RolloutInAnyOrder(t *testing.T) {
	for name, script := range scripts(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				got, err := revisionstest.Replay(script, revisionstest.Options{Concurrency: 8, Shuffle: rand.New(rand.NewPCG(seed, 0))})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diff := cmp.Diff(sortedBlocks(script), sortedBlocks(got)); diff != "" {
					t.Fatalf("seed %d: the order of the objects in a phase matters (-want +got):\n%s", seed, diff)
				}
			}
		})
	}
}

// sortedBlocks sorts the lines of each block.
func sortedBlocks(script string) []string {
	var blocks []string
	for block := range strings.SplitSeq(script, "\n\n") {
		blocks = append(blocks, strings.Join(slices.Sorted(strings.SplitSeq(strings.TrimSpace(block), "\n")), "\n"))
	}
	return blocks
}
