// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"slices"
)

// edge lets a bundle follow on what is installed. The zero value is none.
type edge struct {
	channel string
	entry   entry
}

// successors are the edges of the channels that lead away from what is installed, by the name of the
// bundle that they lead to. One step counts: several steps are several upgrades.
func successors(channels []channel, from *installed) map[string]edge {
	edges := map[string]edge{}
	for _, c := range channels {
		for _, e := range c.entries {
			if _, has := edges[e.Name]; !has && e.follows(from) {
				edges[e.Name] = edge{channel: c.name, entry: e}
			}
		}
	}
	return edges
}

// follows says whether an entry may follow on what is installed. Names are compared as they are, also in
// their build metadata.
func (e entry) follows(from *installed) bool {
	return e.Replaces == from.Name || slices.Contains(e.Skips, from.Name) || e.skipsRangeOf(from)
}

func (e entry) skipsRangeOf(from *installed) bool {
	return e.skipRange != nil && from.valid && e.skipRange(from.version.Version)
}

// words say what the edge is, empty for none.
func (e edge) words(from *installed) string {
	var why string
	switch {
	case e.channel == "":
		return ""
	case e.entry.Replaces == from.Name:
		why = "replaces " + from.Name
	case e.entry.skipsRangeOf(from) && !slices.Contains(e.entry.Skips, from.Name):
		why = fmt.Sprintf("skipRange %q contains %s", e.entry.SkipRange, from.Version)
	default:
		why = "skips " + from.Name
	}
	return fmt.Sprintf("%s in channel %q", why, e.channel)
}

// Successor is a bundle that may follow on another one.
type Successor struct {
	Identity

	// Edge is why, in words.
	Edge       string `json:"edge"`
	Deprecated bool   `json:"deprecated,omitempty"`
}

// Successors are the bundles that the channels let follow on one that is installed, the best first. No
// channels stand for all of the package.
func (p *Package) Successors(from Identity, channels ...string) []Successor {
	installed := newInstalled(&from)
	edges := successors(p.wanted(channels), installed)
	var all []Successor
	for _, b := range p.bundles {
		if edge, follows := edges[b.Identity.Name]; follows {
			all = append(all, Successor{Identity: b.Identity, Edge: edge.words(installed), Deprecated: b.deprecated})
		}
	}
	return all
}
