// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

var morning = time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

// at is a time of that day.
func at(minutes int) time.Time { return morning.Add(time.Duration(minutes) * time.Minute) }

func dnsReady(status metav1.ConditionStatus, since time.Time, message string) []metav1.Condition {
	return []metav1.Condition{{Type: ingress.ConditionDNSReady, Status: status, Reason: "R", Message: message, LastTransitionTime: metav1.NewTime(since)}}
}

func listeners(all ...gatewayv1.ListenerStatus) *gatewayv1.Gateway {
	g := edgeGateway()
	g.Status.Listeners = all
	return g
}

// Whatever the order of the listeners, each keeps the time since which its condition is so.
func TestSteady_ByName(t *testing.T) {
	s := &steady{}
	s.apply(listeners(
		gatewayv1.ListenerStatus{Name: "a", Conditions: dnsReady("True", at(1), "")},
		gatewayv1.ListenerStatus{Name: "b", Conditions: dnsReady("False", at(2), "")},
	), at(2))
	// The list was turned round, with the conditions where they were; b has become ready
	// just now, which its place does not tell.
	turned := listeners(
		gatewayv1.ListenerStatus{Name: "b", Conditions: dnsReady("True", at(1), "")},
		gatewayv1.ListenerStatus{Name: "a", Conditions: dnsReady("True", at(5), "")},
	)
	for range 2 { // of the cache, and live
		s.apply(turned, at(5))
		for i, want := range []time.Time{at(5), at(1)} {
			listener := turned.Status.Listeners[i]
			if got := listener.Conditions[0].LastTransitionTime; !got.Time.Equal(want) {
				t.Errorf("listener %s is ready since %s, want %s", listener.Name, got, want)
			}
		}
	}
	// A listener that comes back under a name of before is another one.
	s.apply(listeners(), at(6))
	back := listeners(gatewayv1.ListenerStatus{Name: "a", Conditions: dnsReady("True", at(7), "")})
	s.apply(back, at(7))
	if got := back.Status.Listeners[0].Conditions[0].LastTransitionTime; !got.Time.Equal(at(7)) {
		t.Errorf("the new listener is ready since %s", got)
	}
	again := listeners(gatewayv1.ListenerStatus{Name: "a", Conditions: dnsReady("True", at(8), "")})
	again.UID = "another"
	s.apply(again, at(8))
	if got := again.Status.Listeners[0].Conditions[0].LastTransitionTime; !got.Time.Equal(at(8)) {
		t.Errorf("the new Gateway's listener is ready since %s", got)
	}
}

// After a start only what is surely a listener's own is taken from the status: a list that was
// turned round while no manager ran has the times of other listeners.
func TestSteady_Recall(t *testing.T) {
	const ours = `{"f:status": {"f:listeners": {"k:{\"name\":\"kept\"}": {"f:conditions": {"k:{\"type\":\"DNSReady\"}": {"f:lastTransitionTime": {}, "f:type": {}}}},
		"k:{\"name\":\"moved\"}": {"f:conditions": {"k:{\"type\":\"DNSReady\"}": {"f:type": {}}}}}}}`
	fields := metav1.ManagedFieldsEntry{Manager: front.Manager, FieldsV1: &metav1.FieldsV1{}}
	if err := fields.FieldsV1.UnmarshalJSON([]byte(ours)); err != nil {
		t.Fatal(err)
	}
	stored := func(generation int64) *gatewayv1.Gateway {
		kept, moved := dnsReady("True", at(1), ""), dnsReady("True", at(2), "")
		kept[0].ObservedGeneration, moved[0].ObservedGeneration = 1, 1
		g := listeners(gatewayv1.ListenerStatus{Name: "kept", Conditions: kept}, gatewayv1.ListenerStatus{Name: "moved", Conditions: moved})
		g.Generation = generation
		return g
	}
	times := func(s *steady, g *gatewayv1.Gateway, now time.Time) []time.Time {
		for i := range g.Status.Listeners {
			g.Status.Listeners[i].Conditions[0].ObservedGeneration = g.Generation // as it is computed
		}
		s.apply(g, now)
		return []time.Time{g.Status.Listeners[0].Conditions[0].LastTransitionTime.Time, g.Status.Listeners[1].Conditions[0].LastTransitionTime.Time}
	}
	s, same := &steady{}, stored(1)
	if got := []bool{s.recall(same)}; !got[0] || !slices.EqualFunc(times(s, same, at(5)), []time.Time{at(1), at(2)}, time.Time.Equal) {
		t.Errorf("of the newest generation every time holds: %v %v", got, same.Status.Listeners)
	}
	s = &steady{}
	if s.recall(stored(2)) {
		t.Error("without managedFields nothing is known of an older generation")
	}
	for range 2 { // what is known is not read again
		live := stored(2)
		live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "pilot"}, fields}
		if !s.recall(live) || !slices.EqualFunc(times(s, live, at(5)), []time.Time{at(1), at(5)}, time.Time.Equal) {
			t.Errorf("kept and moved have the times %v", live.Status.Listeners)
		}
	}
}

// An error with another text is written once a minute, and what is new of it at once.
func TestSteady_Messages(t *testing.T) {
	s := &steady{}
	written, last := 0, ""
	apply := func(now time.Time, c metav1.Condition) {
		t.Helper()
		g := edgeGateway()
		c.Type, c.LastTransitionTime = ingress.ConditionLoadBalancerReady, metav1.NewTime(morning)
		meta.SetStatusCondition(&g.Status.Conditions, c)
		s.apply(g, now)
		if got := g.Status.Conditions[0]; got.Status == c.Status && got.Message != last {
			written, last = written+1, got.Message
		}
	}
	failed := func(text string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: ingress.ReasonSyncLoadBalancerFailed, Message: text}
	}
	for i := range 60 {
		apply(morning.Add(time.Duration(i)*time.Second), failed("denied, request "+string(rune('A'+i))))
	}
	if written != 1 {
		t.Errorf("60 texts in a minute were %d writes, want 1", written)
	}
	if got := s.after(at(0).Add(59 * time.Second)); got != time.Second {
		t.Errorf("the newest text is due in %s, want 1s", got)
	}
	apply(at(1), failed("denied, request Z"))
	if last != "denied, request Z" || s.after(at(1)) != 0 {
		t.Errorf("after a minute the message is %q, and more is due in %s", last, s.after(at(1)))
	}
	other := failed("the quota is used up")
	other.Reason = ingress.ReasonLoadBalancerPending
	apply(at(1).Add(time.Second), other)
	newer := failed("denied, request Y")
	newer.ObservedGeneration = 2
	apply(at(1).Add(2*time.Second), newer)
	newest := failed("denied, request X")
	newest.ObservedGeneration = 3
	apply(at(1).Add(3*time.Second), newest)
	if written != 5 {
		t.Errorf("another reason and another generation were written late: %q after %d writes", last, written)
	}
	for i, text := range []string{"no service", "two services"} {
		own := failed(text)
		own.Reason = ingress.ReasonServiceNotFound
		apply(at(1).Add(time.Duration(4+i)*time.Second), own)
	}
	if written != 7 {
		t.Errorf("our own words were written late: %q after %d writes", last, written)
	}
}
