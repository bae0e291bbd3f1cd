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

// channelNames are those of the package, sorted.
func (p *Package) channelNames() []string {
	names := make([]string, 0, len(p.channels))
	for _, c := range p.channels {
		names = append(names, c.name)
	}
	return names
}
