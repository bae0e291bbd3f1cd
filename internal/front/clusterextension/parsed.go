// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"errors"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
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

// catalog is what a catalog has of a package.
func (p *parsedPackages) catalog(of *olmv1.ClusterCatalog, snapshot catalog.Snapshot, pkg string) resolve.Catalog {
	known := resolve.Catalog{Name: of.Name, Labels: catalogLabels(of), Priority: of.Spec.Priority, Unavailable: !counts(of)}
	if known.Unavailable {
		return known
	}
	trouble := snapshot.Err
	switch {
	case snapshot.Content == nil && trouble == nil:
		known.Err = errors.New(beingRead)
	case snapshot.Content == nil:
		known.Err = trouble
	default:
		known.Digest, _ = snapshot.Content.Stamp(pkg)
		known.Since = snapshot.Read
		if trouble != nil {
			known.Stale = trouble.Error()
		}
		var err error
		if known.Package, err = p.of(snapshot.Content, pkg); err != nil && !errors.Is(err, catalog.ErrNoPackage) {
			known.Err = err
		}
	}
	return known
}
