// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// interleaved: another writer goes on writing into the same lists. None of its entries
// is lost, and ours come out right.
func interleaved(t *testing.T) {
	const a = "a.cluster.example.com"
	e := publishedEdge(t, "interleaved", "a "+a)
	for i := range 40 {
		e.publish(a, "Z1="+[]string{"False", "True"}[i%2])
		for range i % 8 { // another moment of the manager's each time
			e.get()
		}
		tick := metav1.Condition{Type: "Tick", Status: metav1.ConditionTrue, Reason: "Tick", Message: fmt.Sprint(i)}
		e.update(func(g *gatewayv1.Gateway) error {
			meta.SetStatusCondition(&g.Status.Conditions, tick)
			meta.SetStatusCondition(&g.Status.Listeners[0].Conditions, tick)
			return admin.Status().Update(t.Context(), g)
		})
		planetest.Stays(t, 50*time.Millisecond, "the other's condition is not overwritten", func() (bool, error) {
			now := e.get()
			got, listeners := message(now.Status.Conditions, "Tick"), message(now.Status.Listeners[0].Conditions, "Tick")
			return got == tick.Message && listeners == tick.Message, fmt.Errorf("after write %d it says %q, and the listener's %q", i, got, listeners)
		})
	}
	e.eventually("", provisioned, "a", published)
}

// fullConditions: where others leave no room nothing is added, all else goes on, and it
// is reported.
func fullConditions(t *testing.T) {
	const a, b = "a.cluster.example.com", "b.cluster.example.com"
	e := newEdge(t, "full", gateway.Namespace, edgeClass, "a "+a, "b "+b)
	eight := func() []metav1.Condition {
		var conditions []metav1.Condition
		for i := range 8 {
			conditions = append(conditions, metav1.Condition{Type: fmt.Sprintf("Foreign%d", i), Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()})
		}
		return conditions
	}
	e.eventually("", "False/ServiceNotFound")
	e.update(func(g *gatewayv1.Gateway) error {
		g.Status.Conditions = eight()
		g.Status.Listeners = []gatewayv1.ListenerStatus{
			{Name: "a", SupportedKinds: []gatewayv1.RouteGroupKind{}, Conditions: eight()},
			{Name: "b", SupportedKinds: []gatewayv1.RouteGroupKind{}, Conditions: eight()[:7]},
		}
		return admin.Status().Update(t.Context(), g)
	})
	e.eventually("b", "False/RecordNotFound")
	g := e.get()
	if len(g.Status.Conditions) != 8 || len(g.Status.Listeners[0].Conditions) != 8 || len(g.Status.Listeners[1].Conditions) != 8 {
		t.Errorf("there are %d, %d and %d conditions, want 8 everywhere", len(g.Status.Conditions), len(g.Status.Listeners[0].Conditions), len(g.Status.Listeners[1].Conditions))
	}
	must(t, eventsv1.AddToScheme(admin.Scheme()))
	planetest.Eventually(t, "an event", func() (bool, error) {
		list := &eventsv1.EventList{}
		if err := admin.List(t.Context(), list, client.InNamespace(gateway.Namespace)); err != nil {
			return false, err
		}
		for _, event := range list.Items {
			if event.Regarding.Name == "full" && event.Reason == "NoRoomForCondition" {
				return strings.Contains(event.Note, "Gateway full, listener a"), errors.New(event.Note)
			}
		}
		return false, errors.New("there is none")
	})
	e.address(e.service("full-lb"), named)
	e.eventuallyRecords(a, b)
	e.publish(b, "Z1=True")
	e.eventually("b", published)
}

// untouched is what of a Gateway may not change.
func untouched(t *testing.T, namespace, name string) gatewayv1.Gateway {
	t.Helper()
	g := gatewayv1.Gateway{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &g))
	g.ManagedFields, g.ResourceVersion, g.Labels = nil, "", nil // the label for istiod is another front's
	return g
}

// scope: Gateways in other namespaces and of other classes are not touched, even if
// they look like ours.
func scope(t *testing.T) {
	edgeClassFor(t, "foreign", "example.com/foreign")
	namespace := planetest.Namespace(t, plane)
	elsewhere := newEdge(t, "edge", namespace, edgeClass, "a a.cluster.example.com")
	foreign := newEdge(t, "foreign", gateway.Namespace, "foreign", "a a.cluster.example.com")
	foreign.istiod()
	theirs := metav1.Condition{Type: ingress.ConditionLoadBalancerReady, Status: metav1.ConditionFalse, Reason: "TheirOwn", LastTransitionTime: metav1.Now()}
	foreign.update(func(g *gatewayv1.Gateway) error {
		meta.SetStatusCondition(&g.Status.Conditions, theirs)
		return admin.Status().Update(t.Context(), g)
	})
	before := map[string]gatewayv1.Gateway{namespace: untouched(t, namespace, "edge"), gateway.Namespace: untouched(t, gateway.Namespace, "foreign")}
	since := time.Now()
	foreign.address(foreign.service("foreign-lb"), named)
	elsewhere.with(t)
	sentinel := publishedEdge(t, "sentinel", "a a.cluster.example.com") // what was to happen has happened by then
	sentinel.eventually("", provisioned, "a", published)
	for _, name := range [][2]string{{namespace, "edge"}, {gateway.Namespace, "foreign"}} {
		if diff := cmp.Diff(before[name[0]], untouched(t, name[0], name[1])); diff != "" {
			t.Errorf("Gateway %s/%s was changed:\n%s", name[0], name[1], diff)
		}
	}
	for _, r := range requests(t, since) {
		// Those of the tests before may still be written to.
		if r.Resource == "gateways" && (r.Name == "edge" || r.Name == "foreign") && r.Verb != "get" && r.Subresource == "status" {
			t.Errorf("the manager sent %s %s", r.Verb, r.RequestURI)
		}
	}
	if exists(t, &v1alpha1.Package{}, "", "gateway-foreign") || exists(t, &v1alpha1.Package{}, "", "gateway-edge") {
		t.Error("a package was made for a Gateway that is not ours")
	}
}

// classChanges: without its class a Gateway keeps what it has; with another
// controller's, everything of ours goes.
func classChanges(t *testing.T) {
	const a = "a.cluster.example.com"
	class := edgeClassFor(t, "fleeting", ourController)
	e := newEdge(t, "changes", gateway.Namespace, "fleeting", "a "+a)
	e.istiod()
	e.address(e.service("changes-lb"), named)
	e.publish(a, "Z1=True")
	e.eventually("", provisioned, "a", published)

	must(t, admin.Delete(t.Context(), class))
	planetest.Eventually(t, "the class is gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(class), &gatewayv1.GatewayClass{})
		return apierrors.IsNotFound(err), err
	})
	e.listen("a "+a, "b b.cluster.example.com")
	e.istiod()
	publishedEdge(t, "changes-sentinel", "a s.cluster.example.com") // time for a mistake
	e.eventuallyRecords(a)
	e.eventually("", provisioned, "a", published)

	edgeClassFor(t, "fleeting", ourController)
	e.eventuallyRecords(a, "b.cluster.example.com")
	e.eventually("", provisioned, "a", published, "b", "False/NoZones")

	edgeClassFor(t, "other", "example.com/foreign")
	e.update(func(g *gatewayv1.Gateway) error {
		g.Spec.GatewayClassName = "other"
		return admin.Update(t.Context(), g)
	})
	e.eventuallyRecords()
	e.eventually()
	if count := len(e.get().Status.Listeners[0].Conditions); count != 4 {
		t.Errorf("the listener has %d conditions, want istiod's four", count)
	}
}
