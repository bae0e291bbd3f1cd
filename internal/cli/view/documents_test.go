// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDocuments_AreAll finds each kind that the code writes among those that have a
// schema.
func TestDocuments_AreAll(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`(?:view\.)?DocumentType\("([A-Za-z]+)"\)`)
	documents := Documents()
	seen := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range written.FindAllStringSubmatch(string(data), -1) {
			seen[match[1]] = true
		}
	}
	for kind := range seen {
		if documents[kind] == nil {
			t.Errorf("documents of kind %s are written, and not in Documents", kind)
		}
	}
	for kind := range documents {
		if !seen[kind] {
			t.Errorf("no code writes documents of kind %s", kind)
		}
	}
}
