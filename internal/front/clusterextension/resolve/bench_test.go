// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"testing"

	"github.com/strata-run/strata/internal/catalog"
)

// large is a package of 200 bundles in two channels, as the largest of real catalogs have.
func large() *catalog.Package {
	p := &catalog.Package{Name: "p"}
	stable, beta := catalog.Channel{Name: "stable"}, catalog.Channel{Name: "beta"}
	for i := range 200 {
		v := fmt.Sprintf("%d.%d.0", i/20, i%20)
		e := catalog.Entry{Name: "p.v" + v, SkipRange: ">=0.0.1 <" + v}
		if i > 0 {
			e.Replaces = fmt.Sprintf("p.v%d.%d.0", (i-1)/20, (i-1)%20)
		}
		p.Bundles = append(p.Bundles, catalog.Bundle{Name: e.Name, Version: v, Image: "example.com/p:v" + v})
		stable.Entries, beta.Entries = append(stable.Entries, e), append(beta.Entries, e)
	}
	p.Channels = []catalog.Channel{stable, beta}
	return p
}

// BenchmarkThousandExtensions resolves 1,000 extensions of one package.
func BenchmarkThousandExtensions(b *testing.B) {
	source := large()
	b.ReportAllocs()
	for b.Loop() {
		p := NewPackage(source)
		for i := range 1000 {
			from := source.Bundles[i%200]
			Resolve(Request{
				Package: "p", Version: ">=1.0.0", Channels: []string{"stable"},
				Installed: &Identity{Name: from.Name, Version: from.Version},
				Catalogs:  []Catalog{{Name: "a", Package: p}, {Name: "b"}},
			})
		}
	}
}
