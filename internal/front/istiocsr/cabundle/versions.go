// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import "slices"

// versions are those of one object that a decision knows of. The empty one stands for
// an object that is not there.
type versions []string

func (v versions) contain(version string) bool { return slices.Contains(v, version) }

// join are the versions after a decision: what the cache knew, which may be older,
// what the API server answered, and what was written. When the cache
// catches up with any of them it tells nothing new.
//
// That an object is not there is known only when that was the last word: unlike a
// version, an absence comes again.
func join(cached, live, written map[object]string) map[object]versions {
	joined := map[object]versions{}
	for o, old := range cached {
		last := live[o]
		if written[o] != "" {
			last = written[o]
		}
		known := versions{last}
		for _, other := range []string{old, live[o]} {
			if other != "" {
				known = append(known, other)
			}
		}
		joined[o] = known
	}
	return joined
}
