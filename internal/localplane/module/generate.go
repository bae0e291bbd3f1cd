// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Generate copies the module file and the checksums of tools/kubernetes to this
// folder, under names that go embeds.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	source := filepath.Join("..", "..", "..", "tools", "kubernetes")
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			log.Fatalf("reading the module of the local Kubernetes: %v", err)
		}
		if err := os.WriteFile(name+".txt", content, 0o644); err != nil {
			log.Fatalf("writing its copy: %v", err)
		}
	}
}
