// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/catalog"
)

// TestLargePackage has a package with as many bundles as a whole catalog, none of which fits: also the
// message about that takes time in proportion to them.
func TestLargePackage(t *testing.T) {
	const bundles = 200_000
	source := &catalog.Package{Name: "p", Channels: []catalog.Channel{{Name: "stable"}, {Name: "beta"}}}
	for i := range bundles {
		name := fmt.Sprintf("p.v1.0.%d", i)
		source.Bundles = append(source.Bundles, catalog.Bundle{Name: name, Version: fmt.Sprintf("1.0.%d", i), Image: "example.com/p:v1"})
		source.Channels[1].Entries = append(source.Channels[1].Entries, catalog.Entry{Name: name})
	}
	p := NewPackage(source)
	for reason, request := range map[string]Request{
		"are in [beta]":      {Channels: []string{"stable"}, Version: "1.x"},
		"nothing can follow": {Installed: &Identity{Name: "p.v0.1.0", Version: "0.1.0"}, Version: "1.x"},
		"closest version":    {Version: "2.x"},
	} {
		request.Package, request.Catalogs = "p", []Catalog{{Name: "a", Package: p}}
		done := make(chan Answer, 1)
		go func() { done <- Resolve(request) }()
		select {
		case answer := <-done:
			if !strings.Contains(answer.Message, reason) || len(answer.Message) > 1000 {
				t.Errorf("%s: got %q", reason, answer.Message)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: no answer in 30 s", reason)
		}
	}
}
