// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// mostTold bounds the entries of each list of a state, without the one that counts the rest.
	mostTold = 10
	// mostNamed bounds the workloads that a list names: the fewer reasons there are, the
	// more of them have room.
	mostNamed = 30
)

// told is a list for a status: an entry for each reason, with the workloads that have it. Those
// that most have come first. The unlisted ones are only counted.
func told(reasons map[Workload]string, unlisted int) []string {
	groups := byReason(reasons)
	shown := groups[:min(len(groups), mostTold)]
	for _, group := range groups[len(shown):] {
		unlisted += len(group)
	}
	var list []string
	for _, group := range shown {
		list = append(list, named(group, mostNamed/len(shown))+" ("+reasons[group[0]]+")")
	}
	if unlisted > 0 {
		list = append(list, fmt.Sprintf("and %d more", unlisted))
	}
	return list
}

// byReason puts workloads with the same reason together, in order, the most of them first.
func byReason(reasons map[Workload]string) [][]Workload {
	members := map[string][]Workload{}
	for w, reason := range reasons {
		members[reason] = append(members[reason], w)
	}
	groups := make([][]Workload, 0, len(members))
	for _, group := range members {
		slices.SortFunc(group, Workload.Compare)
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b []Workload) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), a[0].Compare(b[0]))
	})
	return groups
}

// named names the first workloads of a group, and counts the rest of it.
func named(group []Workload, most int) string {
	shown := group[:min(len(group), most)]
	names := make([]string, 0, len(shown))
	for _, w := range shown {
		names = append(names, w.String())
	}
	text := strings.Join(names, ", ")
	if rest := len(group) - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
