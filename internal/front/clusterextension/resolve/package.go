// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/strata-run/strata/internal/catalog"
)

// Package is what a catalog has of a package, read and sorted for any number of requests.
type Package struct {
	name string
	// bundles are sorted, the best first.
	bundles []bundle
	// channels are sorted by name.
	channels []channel
	// notices are the deprecations.
	notices []catalog.Deprecation
	// warnings are what did not parse and does not count.
	warnings []string
}

type bundle struct {
	Identity
	*catalog.Bundle

	version    version
	valid      bool // whether the version parses
	deprecated bool
}

type channel struct {
	name    string
	entries []entry
}

type entry struct {
	*catalog.Entry

	skipRange semver.Range // nil for none
}

// NewPackage reads a package, which it keeps and does not change.
func NewPackage(source *catalog.Package) *Package {
	p := &Package{name: source.Name, notices: source.Deprecations}
	for i := range source.Channels {
		p.addChannel(&source.Channels[i])
	}
	slices.SortFunc(p.channels, func(a, b channel) int { return strings.Compare(a.name, b.name) })
	slices.Sort(p.warnings)
	deprecated := map[string]bool{}
	for _, notice := range source.Deprecations {
		if notice.Schema == catalog.SchemaBundle {
			deprecated[notice.Name] = true
		}
	}
	for i := range source.Bundles {
		b := bundle{Bundle: &source.Bundles[i], deprecated: deprecated[source.Bundles[i].Name]}
		b.Identity = Identity{Name: b.Bundle.Name, Version: b.Bundle.Version, Release: b.Bundle.Release}
		var err error
		b.version, err = parseVersion(b.Identity)
		b.valid = err == nil
		p.bundles = append(p.bundles, b)
	}
	slices.SortStableFunc(p.bundles, func(a, b bundle) int { return a.compare(b) })
	return p
}

func (p *Package) addChannel(source *catalog.Channel) {
	c := channel{name: source.Name}
	for i := range source.Entries {
		e := entry{Entry: &source.Entries[i]}
		if e.SkipRange != "" {
			skipRange, err := semver.ParseRange(e.SkipRange)
			if err != nil {
				p.warnings = append(p.warnings, fmt.Sprintf("skipRange %q of %s in channel %q is not a range and does not count", e.SkipRange, e.Name, c.name))
			}
			e.skipRange = skipRange
		}
		c.entries = append(c.entries, e)
	}
	p.channels = append(p.channels, c)
}

// compare puts the better bundle first: a version that parses before one that does not, what is not
// deprecated before what is, then the higher version and release, then the lower name.
func (b bundle) compare(o bundle) int {
	return cmp.Or(
		first(b.valid, o.valid),
		first(o.deprecated, b.deprecated),
		o.version.compare(b.version),
		strings.Compare(b.Identity.Name, o.Identity.Name),
	)
}

// first puts true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// Bundle is a bundle of a package as its catalog has it.
type Bundle struct {
	*catalog.Bundle

	Identity Identity
}

// Bundles are those of the package, the best first.
func (p *Package) Bundles() []Bundle {
	all := make([]Bundle, len(p.bundles))
	for i, b := range p.bundles {
		all[i] = Bundle{b.Bundle, b.Identity}
	}
	return all
}

// Find is the bundle of a name or a version. A version that the package does not have, or not any more,
// is taken for that of a bundle with the usual name.
func (p *Package) Find(named string) (Identity, error) {
	for _, b := range p.bundles {
		if b.Identity.Name == named || b.Identity.Version == named {
			return b.Identity, nil
		}
	}
	is := Identity{Name: p.name + ".v" + named, Version: named}
	if _, err := parseVersion(is); err != nil {
		return Identity{}, fmt.Errorf("%q is neither a bundle of the package %s nor a semantic version", named, p.name)
	}
	return is, nil
}

// is says whether a bundle is the installed one by version and release.
func (b bundle) is(installed *installed) bool {
	return b.valid && installed.valid && b.version.compare(installed.version) == 0
}

// installed is what runs.
type installed struct {
	Identity

	version version
	valid   bool // whether the version parses
}

func newInstalled(id *Identity) *installed {
	if id == nil {
		return nil
	}
	v, err := parseVersion(*id)
	return &installed{Identity: *id, version: v, valid: err == nil}
}
