// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxListed bounds the entries of each list of a state, without the one that counts the rest.
	maxListed = 10
	// maxNamed bounds the workloads that a list names: the fewer reasons there are, the
	// more of them have room.
	maxNamed = 30
)

// Seen is a mesh that pods were compared with: the resource that describes it as of a generation,
// and the revision of its package.
type Seen struct {
	Istio      types.UID
	Generation int64
	Revision   int64
}

// State is what restarts have come to, for a status.
type State struct {
	// Known says that all pods were compared since the mesh has changed last, and Seen with which
	// mesh.
	Known bool
	Seen  Seen
	// WindowClosed says that the window for restarts is closed.
	WindowClosed bool
	// Pending counts workloads that are still to be restarted, with those InProgress: these
	// are such as shop/Deployment/cart, sorted.
	Pending    int
	InProgress []string
	// Failed are workloads that do not come up after a restart; no more of their namespaces are
	// restarted until they do, and none at all while Stopped. Manual are those that only a user can
	// restart. Each entry names those with one reason, and says it; both are bounded, and the last
	// entry may count the rest.
	Failed, Manual []string
	Stopped        bool
	// FailedCount and ManualCount say how many there are.
	FailedCount, ManualCount int
	// Excluded counts workloads that are excluded.
	Excluded int
	// Gateway is the ingress gateway, and Egress the egress gateway.
	Gateway, Egress GatewayState
	// Uninstalled says that there is no mesh, and that nothing is done about its sidecars that is
	// worth waiting for.
	Uninstalled bool
	// Problem is why nothing is restarted at all, such as a window that cannot be read.
	Problem error
}

// equals says whether two states read the same: an error is what it says.
func (s *State) equals(other *State) bool {
	return fmt.Sprintf("%+v", *s) == fmt.Sprintf("%+v", *other)
}

// GatewayState is what restarts of a gateway have come to.
type GatewayState struct {
	// Err is why it cannot be restarted.
	Err error
	// Rolling says that it was restarted, or is about to be, and is coming up.
	Rolling bool
	// Waits is what it is outdated in while it waits for its restart, else empty.
	Waits string
}

// grouped is a list for a status: an entry for each reason, with the workloads that have it. Those
// that most have come first. The unlisted ones are only counted.
func grouped(reasons map[Workload]string, unlisted int) []string {
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
	listed := groups[:min(len(groups), maxListed)]
	for _, group := range groups[len(listed):] {
		unlisted += len(group)
	}
	var list []string
	for _, group := range listed {
		list = append(list, named(group, maxNamed/len(listed))+" ("+reasons[group[0]]+")")
	}
	if unlisted > 0 {
		list = append(list, fmt.Sprintf("and %d more", unlisted))
	}
	return list
}

// named names the first workloads of a group, and counts the rest of it.
func named(group []Workload, limit int) string {
	var names []string
	for _, w := range group[:min(len(group), limit)] {
		names = append(names, w.String())
	}
	text := strings.Join(names, ", ")
	if rest := len(group) - len(names); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
