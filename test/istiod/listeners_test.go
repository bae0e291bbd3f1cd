// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// The hostnames have different fates, so that a condition on the wrong listener shows.
const (
	goodHost = "*.good.example.com"
	badHost  = "*.bad.example.com"
	lateHost = "*.late.example.com"
	// publicZone is the one of testdata/platform.yaml.
	publicZone = "public"

	// What is said of them; absent stands for nothing.
	good   = "DNSReady True NoFailedZones"
	bad    = "DNSReady False FailedZones"
	absent = ""
)

// listenerConditions are all that a listener has once all is well, besides DNSReady.
var listenerConditions = []string{
	"Accepted True Accepted",
	"Conflicted False NoConflicts",
	"Programmed True Programmed",
	"ResolvedRefs True ResolvedRefs",
}

// changeListeners: istiod carries conditions of listeners over by their position. Whatever
// happens to the list, each listener ends up with its own.
func changeListeners(t *testing.T, istiod *program) {
	publish(t, goodHost, "True", "")
	publish(t, badHost, "False", "the quota is used up")
	plain, goodOne, badOne := listener("plain", "", 8080), listener("good", goodHost, 80), listener("bad", badHost, 80)
	eventuallyListeners(t, expected{"good", good}, expected{"bad", bad}, expected{"plain", absent})

	t.Run("Reorder", func(t *testing.T) {
		before := dnsTimes(t)
		setListeners(t, plain, badOne, goodOne)
		eventuallyListeners(t, expected{"plain", absent}, expected{"bad", bad}, expected{"good", good})
		if diff := cmp.Diff(before, dnsTimes(t)); diff != "" {
			t.Errorf("the times of the listeners' DNSReady have changed with their order:\n%s", diff)
		}
	})
	// The manager is first to see the new order, so that what istiod carries over later
	// is certain to be wrong.
	t.Run("ReorderWithoutIstiod", func(t *testing.T) {
		istiod.stop(t)
		setListeners(t, badOne, goodOne, plain)
		settle(t)
		istiod.start(t)
		eventuallyListeners(t, expected{"bad", bad}, expected{"good", good}, expected{"plain", absent})
	})
	t.Run("Insert", func(t *testing.T) {
		setListeners(t, listener("late", lateHost, 80), listener("same", badHost, 8081), plain, badOne, goodOne)
		publish(t, lateHost, "True", "")
		eventuallyListeners(t, expected{"late", good}, expected{"same", bad}, expected{"plain", absent}, expected{"bad", bad}, expected{"good", good})
	})
	t.Run("Remove", func(t *testing.T) {
		setListeners(t, plain, badOne, goodOne)
		eventuallyListeners(t, expected{"plain", absent}, expected{"bad", bad}, expected{"good", good})
		eventuallyNoRecord(t, lateHost)
	})
	t.Run("RemoveHostname", func(t *testing.T) {
		setListeners(t, plain, listener("bad", "", 8082), goodOne)
		eventuallyListeners(t, expected{"plain", absent}, expected{"bad", absent}, expected{"good", good})
		eventuallyNoRecord(t, badHost) // or else the next listener could get the record of this one
	})
	t.Run("Again", func(t *testing.T) {
		setListeners(t, goodOne, badOne, plain)
		publish(t, badHost, "False", "the quota is used up")
		eventuallyListeners(t, expected{"good", good}, expected{"bad", bad}, expected{"plain", absent})
	})
}

// dnsTimes are when DNSReady has changed last, by listener.
func dnsTimes(t *testing.T) map[string]time.Time {
	t.Helper()
	times := map[string]time.Time{}
	for _, l := range getGateway(t, gatewayName).Status.Listeners {
		if c := meta.FindStatusCondition(l.Conditions, ingress.ConditionDNSReady); c != nil {
			times[string(l.Name)] = c.LastTransitionTime.Time
		}
	}
	return times
}

// expected is a listener and what is said of its hostname.
type expected struct{ name, dns string }

// eventuallyListeners waits until the Gateway's status has exactly these listeners in
// this order, each with istiod's conditions and with its own, all of its generation.
// Then it makes sure that this is the end of it.
func eventuallyListeners(t *testing.T, want ...expected) {
	t.Helper()
	var lines []string
	for _, w := range want {
		conditions := slices.Clone(listenerConditions)
		if w.dns != absent {
			conditions = append(conditions, w.dns)
		}
		slices.Sort(conditions)
		for _, condition := range conditions {
			lines = append(lines, w.name+": "+condition)
		}
	}
	difference := func() string {
		object := getGateway(t, gatewayName)
		var got []string
		for _, l := range object.Status.Listeners {
			for _, condition := range summary(l.Conditions, object.Generation) {
				got = append(got, string(l.Name)+": "+condition)
			}
		}
		return cmp.Diff(lines, got)
	}
	// Both may write once more, istiod from what it has read before, and the manager over it:
	// but not without end.
	eventually(t, "the conditions of the listeners", difference)
	since := time.Now()
	planetest.Eventually(t, "the conditions of the listeners to last", func() (bool, error) {
		events, text := gatewayWrites(t, since), difference()
		if len(events) > 0 || text != "" {
			since = time.Now()
		}
		return time.Since(since) > restTime, fmt.Errorf("%s\nthe manager writes:%s", text, describe(events))
	})
}

// gatewayWrites are what the manager has written to Gateways since a time.
func gatewayWrites(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return slices.DeleteFunc(requests(t, setup.Manager, since), func(e localplane.AuditEvent) bool {
		return e.Resource != "gateways" || e.Verb == "get" || e.Verb == "list"
	})
}

func setListeners(t *testing.T, all ...gatewayv1.Listener) {
	t.Helper()
	object := getGateway(t, gatewayName)
	before := object.DeepCopy()
	object.Spec.Listeners = all
	must(t, admin.Patch(t.Context(), object, client.MergeFrom(before)))
}

// publish plays the DNS provider: it waits for the record of a hostname, and says for
// the public zone whether it was published.
func publish(t *testing.T, hostname, published, failure string) {
	t.Helper()
	var record *unstructured.Unstructured
	planetest.Eventually(t, "the DNSRecord of "+hostname, func() (bool, error) {
		record = findRecord(t, hostname)
		return record != nil, fmt.Errorf("Gateway %s has no such record", gatewayName)
	})
	before := record.DeepCopy()
	must(t, unstructured.SetNestedSlice(record.Object, []any{map[string]any{
		"dnsZone": map[string]any{"id": publicZone},
		"conditions": []any{map[string]any{
			"type": "Published", "status": published, "reason": "Played", "message": failure, "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	}}, "status", "zones"))
	must(t, admin.Status().Patch(t.Context(), record, client.MergeFrom(before)))
}

// eventuallyNoRecord waits until the record of a hostname is gone.
func eventuallyNoRecord(t *testing.T, hostname string) {
	t.Helper()
	eventually(t, "the record of "+hostname+" to go", func() string {
		if record := findRecord(t, hostname); record != nil {
			return record.GetName() + " is still there"
		}
		return ""
	})
}

// findRecord returns the Gateway's record of a hostname, nil if there is none.
func findRecord(t *testing.T, hostname string) *unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gateway.RecordKind)
	must(t, admin.List(t.Context(), list, client.InNamespace(gatewayclass.Namespace), client.MatchingLabels{gateway.LabelGateway: gatewayName}))
	for i := range list.Items {
		if name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "dnsName"); strings.TrimSuffix(name, ".") == hostname {
			return &list.Items[i]
		}
	}
	return nil
}
