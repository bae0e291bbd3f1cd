// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostEntries bounds a plan: what does not fit is found when the rest is done.
	mostEntries = 2000
	// mostByHand bounds the list for a person.
	mostByHand = 200
)

// Plan is what a survey of all pods has found. It grows with the workloads that have outdated
// pods, and is bounded.
type Plan struct {
	// Unready counts pods that may be outdated and do not serve: their workloads have other
	// problems first.
	Unready int
	// More says that there are workloads that did not fit.
	More bool
	// Gone says that the mesh is gone, and that its sidecars have to go.
	Gone bool

	entries map[Workload]*Entry
	// excluded are apart: they must not keep others from fitting.
	excluded map[Workload]bool
	byHand   map[Workload]Hand
	// unlisted counts pods that belong to nothing in byHand, as that is full.
	unlisted int
}

// NewPlan is an empty plan.
func NewPlan() *Plan {
	return &Plan{entries: map[Workload]*Entry{}, excluded: map[Workload]bool{}, byHand: map[Workload]Hand{}}
}

// Add takes in a pod that is outdated. The hand is set when nothing can restart the workload,
// see [Resolve].
func (p *Plan) Add(pod *Pod, w Workload, hand *Hand, causes map[Cause]string, excluded bool) {
	switch {
	case hand != nil:
		p.addByHand(*hand, excluded)
		return
	case p.excluded[w]:
		return
	case excluded && len(p.excluded) < mostEntries:
		delete(p.entries, w) // one of its pods is enough
		p.excluded[w] = true
		return
	case excluded:
		p.More = true
		return
	}
	e, known := p.entries[w]
	if !known {
		if len(p.entries) >= mostEntries {
			p.More = true
			return
		}
		e = &Entry{Workload: w, Role: pod.Role, Causes: map[Cause]string{}, Gone: p.Gone}
		p.entries[w] = e
	}
	maps.Copy(e.Causes, causes)
	e.Stuck = e.Stuck || pod.Stuck
	if pod.Created.After(e.Newest) {
		e.Newest = pod.Created
	}
}

func (p *Plan) addByHand(hand Hand, excluded bool) {
	switch _, known := p.byHand[hand.Workload]; {
	case excluded || known:
	case len(p.byHand) >= mostByHand:
		p.unlisted++
	default:
		p.byHand[hand.Workload] = hand
	}
}

// Entries are the workloads in the order in which they are to be restarted.
func (p *Plan) Entries() []Entry {
	all := make([]Entry, 0, len(p.entries))
	for _, e := range p.entries {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		if a.Role != b.Role {
			return int(a.Role) - int(b.Role)
		}
		return a.Workload.Compare(b.Workload)
	})
	return all
}

// Seen is a mesh that pods were compared with.
type Seen struct {
	// Istio is the resource that describes it, as of a generation.
	Istio      types.UID
	Generation int64
	// Revision is that of its package.
	Revision int64
}

// State is what restarts have come to, for a status.
type State struct {
	// Known says that all pods were looked at since the mesh has changed last, and Seen at which
	// mesh that was.
	Known bool
	Seen  Seen
	// Opens is when the window for restarts opens, zero while it is open.
	Opens time.Time
	// Pending counts workloads that are still to be restarted, with those InProgress: these
	// are such as shop/Deployment/cart, sorted.
	Pending    int
	InProgress []string
	// Failed are workloads that do not come up after a restart; no more of their namespaces are
	// restarted until they do, and none at all while Stopped. Manual are those that only a person can restart. Each entry names those
	// with one reason, and says it; both are bounded, and the last entry may count the rest.
	Failed, Manual []string
	Stopped        bool
	// FailedCount and ManualCount say how many there are.
	FailedCount, ManualCount int
	// Excluded counts workloads that are excluded.
	Excluded int
	// GatewayErr is why the ingress gateway cannot be restarted, and EgressErr why the egress
	// gateway cannot.
	GatewayErr, EgressErr error
	// GatewayRolling and EgressRolling say that one was restarted, or is about to be, and is
	// coming up.
	GatewayRolling, EgressRolling bool
	// GatewayWaits and EgressWaits are what one is outdated in that waits for its restart, empty
	// while none does.
	GatewayWaits, EgressWaits string
	// Departed says that there is no mesh, and that nothing is done about its sidecars that is
	// worth waiting for.
	Departed bool
	// Problem is why nothing is restarted at all, such as a window that cannot be read.
	Problem error
}
