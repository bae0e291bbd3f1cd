// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files under testdata anew")

// TestConform asks the cluster in memory what real ones have answered. What is
// written here by -update has to be compared with a real one before it is kept.
func TestConform(t *testing.T) {
	cluster := New()
	client := cluster.Client("test")
	got, err := Conform(t.Context(), client, client, "app", func() { cluster.Advance(time.Second) })
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/conform.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(Conformance, got); diff != "" {
		t.Errorf("the cluster answers otherwise than an API server (-want +got):\n%s", diff)
	}
}
