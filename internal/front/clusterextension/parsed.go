// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"slices"
	"sync"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// mostParsed is how many bytes of catalogs are kept parsed, which takes about three times as much.
const mostParsed = 2 << 20

// parsedPackages are packages of catalogs that were used last, so that the passes of an extension, and
// of many of one package, do not parse it again each time. Nothing changes them.
type parsedPackages struct {
	mutex sync.Mutex
	// recent are the packages, the one that was used last at the end.
	recent []parsedPackage
	bytes  int
}

type parsedPackage struct {
	name, stamp string
	size        int
	parsed      *resolve.Package
}

// of is a package of a catalog.
func (p *parsedPackages) of(content *catalog.Content, name string) (*resolve.Package, error) {
	stamp, size := content.Stamp(name)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	at := slices.IndexFunc(p.recent, func(one parsedPackage) bool { return one.name == name && one.stamp == stamp })
	if at >= 0 {
		one := p.recent[at]
		p.recent = append(slices.Delete(p.recent, at, at+1), one)
		return one.parsed, nil
	}
	found, err := content.Package(name)
	if err != nil {
		return nil, err
	}
	one := parsedPackage{name: name, stamp: stamp, size: size, parsed: resolve.NewPackage(&found)}
	if size > mostParsed {
		return one.parsed, nil
	}
	p.recent, p.bytes = append(p.recent, one), p.bytes+size
	for p.bytes > mostParsed {
		p.bytes -= p.recent[0].size
		p.recent = slices.Delete(p.recent, 0, 1)
	}
	return one.parsed, nil
}
