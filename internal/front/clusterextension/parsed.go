// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

const (
	// mostParsed is how many bytes of catalogs are kept parsed, which takes about three times as much.
	mostParsed = 2 << 20
	// mostRendered is of how many bytes of files bundles are kept rendered, which takes about ten times
	// as much.
	mostRendered = 1 << 20
)

// parsedPackages are packages of catalogs that were used last, so that the passes of an extension, and
// of many of one package, do not parse it again each time. Nothing changes them.
type parsedPackages struct{ recent[*resolve.Package] }

// of is a package of a catalog.
func (p *parsedPackages) of(content *catalog.Content, name string) (*resolve.Package, error) {
	stamp, size := content.Stamp(name)
	if parsed, found := p.get(name+" "+stamp, ""); found {
		return parsed, nil
	}
	found, err := content.Package(name)
	if err != nil {
		return nil, err
	}
	parsed := resolve.NewPackage(&found)
	p.put(name+" "+stamp, "", int64(size), parsed)
	return parsed, nil
}
