// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "slices"

// wanted are the channels that count, sorted by name.
func (p *Package) wanted(names []string) []channel {
	if len(names) == 0 {
		return p.channels
	}
	var wanted []channel
	for _, c := range p.channels {
		if slices.Contains(names, c.name) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// members are the names of the bundles in channels.
func members(channels []channel) map[string]bool {
	names := map[string]bool{}
	for _, c := range channels {
		for _, e := range c.entries {
			names[e.Name] = true
		}
	}
	return names
}

// Channels are the names of those that have a bundle, sorted; of all without a name.
func (p *Package) Channels(bundle string) []string {
	var names []string
	for _, c := range p.channels {
		if bundle == "" || slices.ContainsFunc(c.entries, func(e entry) bool { return e.Name == bundle }) {
			names = append(names, c.name)
		}
	}
	return names
}
