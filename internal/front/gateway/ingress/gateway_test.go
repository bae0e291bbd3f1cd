// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// listener is a listener's name and hostname; gateway makes a Gateway of some, whose
// status has an entry for each.
type listener struct{ name, hostname string }

func gateway(listeners ...listener) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "edge", Generation: 7}}
	for _, l := range listeners {
		next := gatewayv1.Listener{Name: gatewayv1.SectionName(l.name)}
		if l.hostname != "" {
			next.Hostname = new(gatewayv1.Hostname(l.hostname))
		}
		g.Spec.Listeners = append(g.Spec.Listeners, next)
		g.Status.Listeners = append(g.Status.Listeners, gatewayv1.ListenerStatus{Name: next.Name, AttachedRoutes: 1})
	}
	return g
}

func input() ingress.GatewayInput {
	return ingress.GatewayInput{
		Service: service(withAddress(corev1.LoadBalancerIngress{IP: "192.0.2.1"})), Config: config(), Platform: "AWS",
		Records: map[string]*ingress.Record{
			"*.stage.example.com": {Name: "stage", Hostname: "*.stage.example.com", Zones: []ingress.ZoneStatus{in(public, yes)}},
			"*.prod.example.com":  {Name: "prod", Hostname: "*.prod.example.com", Zones: []ingress.ZoneStatus{in(private, no)}},
		},
		Now: metav1.NewTime(noon),
	}
}

// verdicts are the conditions of our types, by listener; that of the Gateway stands
// under the empty name.
func verdicts(g *gatewayv1.Gateway) map[string]string {
	found := map[string]string{}
	note := func(name, kind string, conditions []metav1.Condition) {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			found[name] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
		}
	}
	note("", ingress.ConditionLoadBalancerReady, g.Status.Conditions)
	note("gateway", ingress.ConditionDNSReady, g.Status.Conditions)
	for _, l := range g.Status.Listeners {
		note(string(l.Name), ingress.ConditionDNSReady, l.Conditions)
	}
	return found
}

func TestGateway(t *testing.T) {
	stale := metav1.Condition{Type: "DNSReady", Status: yes, Reason: "NoFailedZones", ObservedGeneration: 6, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}
	cases := map[string]struct {
		reason  string
		gateway *gatewayv1.Gateway
		change  func(*gatewayv1.Gateway, *ingress.GatewayInput)
		want    map[string]string
	}{
		"TheExampleOfTheSeed": {
			reason:  "listeners that share a hostname share its record, one that fails leaves the others alone",
			gateway: gateway(listener{"stage-http", "*.stage.example.com"}, listener{"stage-https", "*.stage.example.com"}, listener{"prod-https", "*.prod.example.com"}),
			want: map[string]string{
				"": "True/LoadBalancerProvisioned", "stage-http": "True/NoFailedZones", "stage-https": "True/NoFailedZones", "prod-https": "False/FailedZones",
			},
		},
		"NoHostname": {
			reason:  "a listener without a hostname has no condition of ours",
			gateway: gateway(listener{"any", ""}, listener{"stage", "*.stage.example.com"}),
			want:    map[string]string{"": "True/LoadBalancerProvisioned", "stage": "True/NoFailedZones"},
		},
		"HostnameRemoved": {
			reason:  "a condition goes with the hostname",
			gateway: gateway(listener{"any", ""}),
			change: func(g *gatewayv1.Gateway, _ *ingress.GatewayInput) {
				g.Status.Listeners[0].Conditions = []metav1.Condition{stale}
			},
			want: map[string]string{"": "True/LoadBalancerProvisioned"},
		},
		"ListenerRemoved": {
			reason:  "an entry of a listener that the spec does not have any more loses it, too",
			gateway: gateway(listener{"old", "*.stage.example.com"}),
			change: func(g *gatewayv1.Gateway, _ *ingress.GatewayInput) {
				g.Spec.Listeners, g.Status.Listeners[0].Conditions = nil, []metav1.Condition{stale}
			},
			want: map[string]string{"": "True/LoadBalancerProvisioned"},
		},
		"NoListenersStatus": {
			reason:  "entries are the Gateway controller's to make: nothing is added",
			gateway: gateway(listener{"stage", "*.stage.example.com"}),
			change:  func(g *gatewayv1.Gateway, _ *ingress.GatewayInput) { g.Status.Listeners = nil },
			want:    map[string]string{"": "True/LoadBalancerProvisioned"},
		},
		"NoRecord": {
			reason:  "a wildcard is no other name's record",
			gateway: gateway(listener{"a", "a.stage.example.com"}),
			want:    map[string]string{"": "True/LoadBalancerProvisioned", "a": "False/RecordNotFound"},
		},
		"TrailingDot": {
			reason:  "a dot at the end makes no other hostname",
			gateway: gateway(listener{"a", "*.stage.example.com."}, listener{"b", "*.stage.example.com"}),
			want:    map[string]string{"": "True/LoadBalancerProvisioned", "a": "True/NoFailedZones", "b": "True/NoFailedZones"},
		},
		"NoConfig": {
			reason:  "a missing DNS config says nothing of the load balancer",
			gateway: gateway(listener{"a", "*.stage.example.com"}),
			change:  func(_ *gatewayv1.Gateway, in *ingress.GatewayInput) { in.Config = nil },
			want:    map[string]string{"": "True/LoadBalancerProvisioned", "a": "False/NoDNSZones"},
		},
		"NoService": {
			reason:  "a missing Service says nothing of what is published",
			gateway: gateway(listener{"a", "*.stage.example.com"}),
			change:  func(_ *gatewayv1.Gateway, in *ingress.GatewayInput) { in.Service = nil },
			want:    map[string]string{"": "False/ServiceNotFound", "a": "True/NoFailedZones"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input()
			if c.change != nil {
				c.change(c.gateway, &in)
			}
			if full := ingress.Full(c.gateway); len(full) > 0 {
				t.Errorf("there is no room on %v", full)
			}
			ingress.Gateway(c.gateway, in)
			if diff := cmp.Diff(c.want, verdicts(c.gateway)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestGatewayTimesAndGenerations(t *testing.T) {
	g, in := gateway(listener{"stage", "*.stage.example.com"}), input()
	ingress.Gateway(g, in)
	before := g.DeepCopy()
	in.Now = metav1.NewTime(noon.Add(time.Hour))
	ingress.Gateway(g, in)
	if diff := cmp.Diff(before, g); diff != "" {
		t.Errorf("a second time changes something (-first +second):\n%s", diff)
	}
	g.Generation = 8
	ingress.Gateway(g, in)
	lb, dns := g.Status.Conditions[0], g.Status.Listeners[0].Conditions[0]
	for _, c := range []metav1.Condition{lb, dns} {
		if c.ObservedGeneration != 8 || !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("%s is of generation %d and %s, want 8, and noon, as the status is the same", c.Type, c.ObservedGeneration, c.LastTransitionTime)
		}
	}
	in.Service = nil
	ingress.Gateway(g, in)
	if lb := g.Status.Conditions[0]; lb.Status != no || !lb.LastTransitionTime.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("%s changed to %s at %s, want the time of the change", lb.Type, lb.Status, lb.LastTransitionTime)
	}
}

func TestGatewaySaysThatThereAreSeveralServices(t *testing.T) {
	g, in := gateway(), input()
	in.Others = []string{"b", "c"}
	ingress.Gateway(g, in)
	want := "The LoadBalancer service is provisioned. Service edge-openshift-default is taken; more carry the Gateway's label: b, c."
	if got := g.Status.Conditions[0].Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

func foreignConditions(count int) []metav1.Condition {
	conditions := make([]metav1.Condition, 0, count)
	for i := range count {
		conditions = append(conditions, metav1.Condition{Type: fmt.Sprintf("Foreign%d", i), Status: yes, Reason: "R", Message: "m", LastTransitionTime: metav1.NewTime(noon)})
	}
	return conditions
}

func TestGatewayWithoutRoom(t *testing.T) {
	g := gateway(listener{"full", "*.stage.example.com"}, listener{"free", "*.stage.example.com"})
	g.Status.Conditions = foreignConditions(8)
	g.Status.Listeners[0].Conditions = foreignConditions(8)
	g.Status.Listeners[1].Conditions = foreignConditions(7)
	before := g.DeepCopy()
	if diff := cmp.Diff([]string{"Gateway edge", "listener full"}, ingress.Full(g)); diff != "" {
		t.Errorf("where there is no room (-want +got):\n%s", diff)
	}
	ingress.Gateway(g, input())
	if diff := cmp.Diff(before.Status.Listeners[0], g.Status.Listeners[0]); diff != "" || len(g.Status.Conditions) != 8 {
		t.Errorf("a full list was changed:\n%s", diff)
	}
	if got := len(g.Status.Listeners[1].Conditions); got != 8 {
		t.Errorf("the listener with room has %d conditions, want 8", got)
	}
}

func TestRemoveFromGateway(t *testing.T) {
	g := gateway(listener{"a", "*.stage.example.com"}, listener{"b", "*.stage.example.com"})
	g.Status.Conditions = foreignConditions(2)
	before := g.DeepCopy()
	ingress.Gateway(g, input())
	ingress.RemoveFromGateway(g)
	for _, status := range []*gatewayv1.GatewayStatus{&before.Status, &g.Status} {
		for i := range status.Listeners {
			status.Listeners[i].Conditions = slices.Clip(append([]metav1.Condition{}, status.Listeners[i].Conditions...))
		}
	}
	if diff := cmp.Diff(before, g); diff != "" {
		t.Errorf("not what it was before (-before +after):\n%s", diff)
	}
	theirs := metav1.Condition{Type: "LoadBalancerReady", Status: yes, Reason: "TheirReason"}
	g.Status.Conditions = []metav1.Condition{theirs}
	ingress.RemoveFromGateway(g)
	if diff := cmp.Diff([]metav1.Condition{theirs}, g.Status.Conditions); diff != "" {
		t.Errorf("another controller's condition (-want +got):\n%s", diff)
	}
}

// TestGatewayProperties: whatever stands on a Gateway, and in whatever order, foreign
// conditions stay, lists stay within their limit, a second time changes nothing, and a
// listener's verdict follows from its name and hostname alone.
func TestGatewayProperties(t *testing.T) {
	hostnames := []string{"", "*.stage.example.com", "*.prod.example.com", "*.prod.example.com.", "missing.example.com"}
	rapid.Check(t, func(t *rapid.T) {
		var listeners []listener
		for i := range rapid.IntRange(0, 6).Draw(t, "listeners") {
			listeners = append(listeners, listener{fmt.Sprintf("l%d", i), rapid.SampledFrom(hostnames).Draw(t, "hostname")})
		}
		g, in := gateway(listeners...), input()
		conditions := func() []metav1.Condition {
			drawn := foreignConditions(rapid.IntRange(0, 7).Draw(t, "foreign"))
			if rapid.Bool().Draw(t, "ours") {
				at := rapid.IntRange(0, len(drawn)).Draw(t, "at")
				kind := rapid.SampledFrom([]string{ingress.ConditionDNSReady, ingress.ConditionLoadBalancerReady}).Draw(t, "kind")
				drawn = slices.Insert(drawn, at, metav1.Condition{Type: kind, Status: unknown, Reason: "Stale"})
			}
			return drawn
		}
		g.Status.Conditions = conditions()
		for i := range g.Status.Listeners {
			g.Status.Listeners[i].Conditions = conditions()
		}
		shuffled := g.DeepCopy()
		shuffled.Spec.Listeners = rapid.Permutation(shuffled.Spec.Listeners).Draw(t, "spec")
		shuffled.Status.Listeners = rapid.Permutation(shuffled.Status.Listeners).Draw(t, "status")
		before := g.DeepCopy()

		ingress.Gateway(g, in)
		ingress.Gateway(shuffled, in)
		checkGateway(t, before, g)
		checkGateway(t, before, shuffled)
		if diff := cmp.Diff(sortedListeners(g), sortedListeners(shuffled)); diff != "" {
			t.Fatalf("the order of listeners matters (-one +other):\n%s", diff)
		}
		again := g.DeepCopy()
		in.Now = metav1.NewTime(noon.Add(time.Minute))
		ingress.Gateway(again, in)
		if diff := cmp.Diff(g, again); diff != "" {
			t.Fatalf("a second time changes something (-first +second):\n%s", diff)
		}
	})
}

func sortedListeners(g *gatewayv1.Gateway) []gatewayv1.ListenerStatus {
	return slices.SortedFunc(slices.Values(g.Status.Listeners), func(a, b gatewayv1.ListenerStatus) int {
		return slices.Compare([]string{string(a.Name)}, []string{string(b.Name)})
	})
}

func checkGateway(t *rapid.T, before, after *gatewayv1.Gateway) {
	theirs := func(conditions []metav1.Condition, ours string) []metav1.Condition {
		return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == ours })
	}
	if diff := cmp.Diff(theirs(before.Status.Conditions, ingress.ConditionLoadBalancerReady), theirs(after.Status.Conditions, ingress.ConditionLoadBalancerReady)); diff != "" {
		t.Fatalf("the Gateway's other conditions were changed:\n%s", diff)
	}
	if len(after.Status.Conditions) > 8 {
		t.Fatalf("the Gateway has %d conditions", len(after.Status.Conditions))
	}
	b, a := sortedListeners(before), sortedListeners(after)
	if len(a) != len(b) {
		t.Fatalf("there are %d entries of listeners, and were %d", len(a), len(b))
	}
	for i := range a {
		if diff := cmp.Diff(theirs(b[i].Conditions, ingress.ConditionDNSReady), theirs(a[i].Conditions, ingress.ConditionDNSReady)); diff != "" {
			t.Fatalf("other conditions of listener %s were changed:\n%s", a[i].Name, diff)
		}
		if len(a[i].Conditions) > 8 || a[i].AttachedRoutes != 1 {
			t.Fatalf("listener %s has %d conditions and %d routes", a[i].Name, len(a[i].Conditions), a[i].AttachedRoutes)
		}
	}
}
