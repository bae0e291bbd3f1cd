// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// messageSpacing is the least time between two writes of a condition of which nothing but the
// provider's words differ: these may have the name of another request each time.
const messageSpacing = time.Minute

// steady knows the conditions that Gateways and their listeners should have, by name. A status
// does not reliably say since when: the controller of the Gateways carries conditions of
// listeners over by position, with their times. It is empty after a start, and takes from the
// status what is surely a listener's own, see recall.
type steady struct {
	lock     sync.Mutex
	gateways map[types.NamespacedName]*steadyGateway
}

type steadyGateway struct {
	uid types.UID
	// places are the Gateway itself, by the empty name, and its listeners.
	places map[gatewayv1.SectionName]*steadyCondition
}

type steadyCondition struct {
	metav1.Condition

	// written is when it was changed last, and due when a newer message is, zero for none.
	written, due time.Time
}

// recall reads from the status of a Gateway what is not known yet, before the new status is
// computed. The conditions of a listener whose generation is not the newest may be those of
// another listener, if the list was reordered while no manager ran. The time is the listener's
// own while managedFields has it as a field of ours; otherwise there was a change that no manager
// has observed. recall returns false when it would need managedFields and they are missing, as in
// the cache: then nothing is to be read from the status.
func (s *steady) recall(gateway *gatewayv1.Gateway) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}
	if known := s.gateways[key]; known != nil && known.uid == gateway.UID {
		return true
	}
	recalled := &steadyGateway{uid: gateway.UID, places: map[gatewayv1.SectionName]*steadyCondition{}}
	for i := range gateway.Status.Listeners {
		listener := &gateway.Status.Listeners[i]
		c := meta.FindStatusCondition(listener.Conditions, ingress.ConditionDNSReady)
		if c == nil || c.ObservedGeneration == gateway.Generation {
			continue // it is right where it stands
		}
		if len(gateway.ManagedFields) == 0 {
			return false
		}
		if !front.Owns(front.Manager, gateway.ManagedFields, "f:status", "f:listeners", fmt.Sprintf(`k:{"name":%q}`, listener.Name),
			"f:conditions", fmt.Sprintf(`k:{"type":%q}`, ingress.ConditionDNSReady), "f:lastTransitionTime") {
			recalled.places[listener.Name] = &steadyCondition{} // of no status, so that any is a change
		}
	}
	if len(recalled.places) > 0 {
		s.remember(key, recalled)
	}
	return true
}

func (s *steady) remember(key types.NamespacedName, gateway *steadyGateway) {
	if s.gateways == nil {
		s.gateways = map[types.NamespacedName]*steadyGateway{}
	}
	s.gateways[key] = gateway
}

// apply brings the conditions of a Gateway, which were just computed, to the times of before,
// and to the message of before while that is too new to be replaced.
func (s *steady) apply(gateway *gatewayv1.Gateway, now time.Time) {
	s.lock.Lock()
	defer s.lock.Unlock()
	key := types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}
	known := s.gateways[key]
	if known == nil || known.uid != gateway.UID {
		known = &steadyGateway{uid: gateway.UID, places: map[gatewayv1.SectionName]*steadyCondition{}}
	}
	s.remember(key, known)
	known.apply("", gateway.Status.Conditions, ingress.ConditionLoadBalancerReady, now)
	for i := range gateway.Status.Listeners {
		listener := &gateway.Status.Listeners[i]
		known.apply(listener.Name, listener.Conditions, ingress.ConditionDNSReady, now)
	}
	for name := range known.places {
		if name != "" && !slices.ContainsFunc(gateway.Status.Listeners, func(l gatewayv1.ListenerStatus) bool { return l.Name == name }) {
			delete(known.places, name)
		}
	}
}

func (g *steadyGateway) apply(place gatewayv1.SectionName, conditions []metav1.Condition, kind string, now time.Time) {
	c, before := meta.FindStatusCondition(conditions, kind), g.places[place]
	switch {
	case c == nil:
		delete(g.places, place)
		return
	case before == nil:
	case before.Status != c.Status:
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	default:
		c.LastTransitionTime = before.LastTransitionTime
		if !ingress.QuotesProvider(c.Reason) || c.Reason != before.Reason || c.ObservedGeneration != before.ObservedGeneration || c.Message == before.Message {
			break
		}
		if due := before.written.Add(messageSpacing); now.Before(due) {
			c.Message, before.due = before.Message, due
			return
		}
	}
	if before == nil || before.Condition != *c {
		g.places[place] = &steadyCondition{Condition: *c, written: now}
		return
	}
	before.due = time.Time{}
}

// after is how long until the first message is due, 0 when none is.
func (s *steady) after(now time.Time) time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	var first time.Duration
	for _, gateway := range s.gateways {
		for _, c := range gateway.places {
			if left := c.due.Sub(now); left > 0 && (first == 0 || left < first) {
				first = left
			}
		}
	}
	return first
}

// forget drops a Gateway.
func (s *steady) forget(name types.NamespacedName) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.gateways, name)
}
