// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strata-run/strata/internal/catalog"
)

// Deprecation is what a catalog says of an extension.
type Deprecation struct {
	// Known is false while no catalog that counts can be read.
	Known bool `json:"known"`
	// Catalog is the one that says it.
	Catalog string `json:"catalog,omitempty"`
	// Package is the notice for the package, Channels those for the wanted channels, sorted by name, and
	// Bundle the one for the installed bundle.
	Package  *Notice  `json:"package,omitempty"`
	Channels []Notice `json:"channels,omitempty"`
	Bundle   *Notice  `json:"bundle,omitempty"`
}

// Notice says that something is deprecated.
type Notice struct {
	Name string `json:"name"`
	// Message is that of the catalog, or says in its place what is deprecated.
	Message string `json:"message"`
}

// Deprecations are those of the package, of its channels (all without channels), and of the installed
// bundle, nil for none.
func (p *Package) Deprecations(channels []string, installed *Identity) Deprecation {
	found := Deprecation{Known: true}
	for _, d := range p.notices {
		switch {
		case d.Schema == catalog.SchemaPackage:
			found.Package = notice(p.name, "package", d.Message)
		case d.Schema == catalog.SchemaChannel && (len(channels) == 0 || slices.Contains(channels, d.Name)):
			found.Channels = append(found.Channels, *notice(d.Name, "channel", d.Message))
		case d.Schema == catalog.SchemaBundle && installed != nil && d.Name == installed.Name:
			found.Bundle = notice(d.Name, "bundle", d.Message)
		}
	}
	slices.SortFunc(found.Channels, func(a, b Notice) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func notice(name, what, message string) *Notice {
	return &Notice{Name: name, Message: cmp.Or(strings.TrimSpace(message), what+" "+name+" is deprecated")}
}

// deprecation is what the catalog of the winner says. Without one, it is that of the catalog which has
// what is installed, then the one of the highest priority, then the first by name.
func (q *question) deprecation(winners []option) Deprecation {
	var says *Catalog
	readable := false
	for i := range q.scope {
		c := &q.scope[i]
		readable = readable || c.Err == nil
		if c.Err != nil || c.Package == nil {
			continue
		}
		if says == nil || cmp.Or(first(q.runs(c), q.runs(says)), cmp.Compare(says.Priority, c.Priority)) < 0 {
			says = c
		}
	}
	if len(winners) == 1 {
		says = winners[0].catalog
	}
	if says == nil {
		return Deprecation{Known: readable}
	}
	found := says.Package.Deprecations(q.Channels, q.Installed)
	found.Catalog = says.Name
	return found
}

// runs says whether a catalog has what is installed.
func (q *question) runs(c *Catalog) bool { return q.from != nil && c.has(q.from) }
