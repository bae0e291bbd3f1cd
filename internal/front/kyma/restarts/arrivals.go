// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// mostArrivals bounds the namespaces whose joining is remembered. For any more, the time of
// the label counts, which changes with every other field that the same field manager sets.
const mostArrivals = 200

// Arrivals are namespaces that have joined the mesh, each with since when: the time that its
// label had when workloads were first to be restarted for that. It is the same until the
// namespace leaves, so that joining once is one cause.
type Arrivals map[string]time.Time

// ParseArrivals reads what [Arrivals.String] has written. What cannot be read is empty.
func ParseArrivals(text string) Arrivals {
	a := Arrivals{}
	if err := json.Unmarshal([]byte(text), &a); err != nil || a == nil {
		return Arrivals{}
	}
	return a
}

// String is the form for an annotation, the same for the same arrivals, empty for none.
func (a Arrivals) String() string {
	if len(a) == 0 {
		return ""
	}
	data, err := json.Marshal(a)
	if err != nil {
		return "" // times can be encoded
	}
	return string(data)
}

// Next are the arrivals after all pods were looked at: the joining ones, which have workloads to
// restart for it, and those that still inject. When these are too many, the last to be left out
// are those whose workloads may have been restarted already and are still outdated, then those
// that are about to be.
func (a Arrivals) Next(joining Arrivals, injects func(namespace string) bool) Arrivals {
	next := Arrivals{}
	take := func(from Arrivals, fits func(namespace string) bool) {
		newest := slices.SortedFunc(maps.Keys(from), func(x, y string) int {
			return cmp.Or(from[y].Compare(from[x]), cmp.Compare(x, y))
		})
		for _, name := range newest {
			if len(next) >= mostArrivals {
				return
			}
			if fits(name) {
				next[name] = from[name]
			}
		}
	}
	take(joining, func(namespace string) bool { _, known := a[namespace]; return known })
	take(joining, func(string) bool { return true })
	take(a, injects)
	return next
}
