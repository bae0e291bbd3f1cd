// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func service(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "edge-openshift-default", UID: "uid-1"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func withAddress(addresses ...corev1.LoadBalancerIngress) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = addresses }
}

func failure(name, message string, minutes int, change ...func(*corev1.Event)) corev1.Event {
	e := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: "openshift-ingress", Name: "edge-openshift-default", UID: "uid-1",
		},
		Type: corev1.EventTypeWarning, Reason: "SyncLoadBalancerFailed", Message: message,
		Source:        corev1.EventSource{Component: "service-controller"},
		LastTimestamp: metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)),
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// loadBalancerCase is a case of [TestLoadBalancer].
type loadBalancerCase struct {
	reason  string
	service *corev1.Service
	events  []corev1.Event
	want    ingress.Verdict
}

const loadBalancerQuota = "Error syncing load balancer: quota exceeded"

// loadBalancerCases are the cases of [TestLoadBalancer].
var loadBalancerCases = map[string]loadBalancerCase{
	"NoService": {
		reason: "first of all, without a Service there is nothing to look at",
		events: []corev1.Event{failure("a", loadBalancerQuota, 0)},
		want:   ingress.Verdict{Status: "False", Reason: "ServiceNotFound", Message: "The LoadBalancer service resource is missing"},
	},
	"ServiceWithoutName": {
		reason:  "a Service with an empty name is none",
		service: &corev1.Service{},
		want:    ingress.Verdict{Status: "False", Reason: "ServiceNotFound", Message: "The LoadBalancer service resource is missing"},
	},
	"Hostname": {
		reason:  "an address wins over failures before it; the message is the seed's",
		service: service(withAddress(corev1.LoadBalancerIngress{Hostname: "lb.example.com"})),
		events:  []corev1.Event{failure("a", loadBalancerQuota, 0)},
		want:    ingress.Verdict{Status: "True", Reason: "LoadBalancerProvisioned", Message: "The LoadBalancer service is provisioned"},
	},
	"IP": {
		reason:  "any entry with an address counts",
		service: service(withAddress(corev1.LoadBalancerIngress{}, corev1.LoadBalancerIngress{IP: "192.0.2.1"})),
		want:    ingress.Verdict{Status: "True", Reason: "LoadBalancerProvisioned", Message: "The LoadBalancer service is provisioned"},
	},
	"EmptyIngress": {
		reason:  "an entry without an address is none",
		service: service(withAddress(corev1.LoadBalancerIngress{})),
		want:    ingress.Verdict{Status: "False", Reason: "LoadBalancerPending", Message: "The LoadBalancer service is pending"},
	},
	"Failed": {
		reason:  "the cloud's error is in the message",
		service: service(),
		events:  []corev1.Event{failure("a", loadBalancerQuota, 0)},
		want: ingress.Verdict{Status: "False", Reason: "SyncLoadBalancerFailed", Message: "The service-controller reports SyncLoadBalancerFailed for service edge-openshift-default: " +
			"Error syncing load balancer: quota exceeded. The logs of the cloud-controller-manager may tell more."},
	},
	"NewestFailure": {
		reason:  "of several failures the newest is reported, whatever the order",
		service: service(),
		events:  []corev1.Event{failure("a", "old", 0), failure("c", "newest", 9), failure("b", "older", 5)},
		want: ingress.Verdict{Status: "False", Reason: "SyncLoadBalancerFailed", Message: "The service-controller reports SyncLoadBalancerFailed for service edge-openshift-default: " +
			"newest. The logs of the cloud-controller-manager may tell more."},
	},
	"NewForm": {
		reason:  "events of the newer API have the component elsewhere, and their time",
		service: service(),
		events: []corev1.Event{failure("a", "old", 0), failure("b", "new", 0, func(e *corev1.Event) {
			e.Source, e.ReportingController, e.LastTimestamp = corev1.EventSource{}, "service-controller", metav1.Time{}
			e.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(noon.Add(time.Hour))}
		})},
		want: ingress.Verdict{Status: "False", Reason: "SyncLoadBalancerFailed", Message: "The service-controller reports SyncLoadBalancerFailed for service edge-openshift-default: " +
			"new. The logs of the cloud-controller-manager may tell more."},
	},
	"EventsOfOthers": {
		reason:  "events count only if they are about this very Service",
		service: service(),
		events: []corev1.Event{
			failure("uid", loadBalancerQuota, 0, func(e *corev1.Event) { e.InvolvedObject.UID = "uid-0" }),
			failure("name", loadBalancerQuota, 0, func(e *corev1.Event) { e.InvolvedObject.Name = "other" }),
			failure("namespace", loadBalancerQuota, 0, func(e *corev1.Event) { e.InvolvedObject.Namespace = "other" }),
			failure("kind", loadBalancerQuota, 0, func(e *corev1.Event) { e.InvolvedObject.Kind = "Pod" }),
			failure("normal", loadBalancerQuota, 0, func(e *corev1.Event) { e.Type, e.Reason = corev1.EventTypeNormal, "EnsuringLoadBalancer" }),
		},
		want: ingress.Verdict{Status: "False", Reason: "LoadBalancerPending", Message: "The LoadBalancer service is pending"},
	},
	"OtherComponent": {
		reason:  "what another controller warns about explains why it is pending, and is no failed sync",
		service: service(),
		events: []corev1.Event{failure("a", `no available "IPs"`, 0, func(e *corev1.Event) {
			e.Source.Component, e.Reason = "metallb-controller", "AllocationFailed"
		})},
		want: ingress.Verdict{Status: "False", Reason: "LoadBalancerPending", Message: "The LoadBalancer service is pending: " +
			`metallb-controller warns about service edge-openshift-default, AllocationFailed: no available "IPs"`},
	},
	"SameReasonOfAnotherComponent": {
		reason:  "both component and reason have to match",
		service: service(),
		events:  []corev1.Event{failure("a", loadBalancerQuota, 0, func(e *corev1.Event) { e.Source.Component = "other" })},
		want: ingress.Verdict{Status: "False", Reason: "LoadBalancerPending", Message: "The LoadBalancer service is pending: " +
			"other warns about service edge-openshift-default, SyncLoadBalancerFailed: " + loadBalancerQuota},
	},
	"ClusterIP": {
		reason:  "a Service of another type is pending for ever, so the message says why",
		service: service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }),
		want: ingress.Verdict{Status: "False", Reason: "LoadBalancerPending", Message: "The LoadBalancer service is pending: " +
			"service edge-openshift-default is of type ClusterIP, which gets no load balancer"},
	},
}

func TestLoadBalancer(t *testing.T) {
	for name, c := range loadBalancerCases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ingress.LoadBalancer(c.service, c.events)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			slices.Reverse(c.events)
			if diff := cmp.Diff(c.want, ingress.LoadBalancer(c.service, c.events)); diff != "" {
				t.Errorf("%s; with the events in the other order (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestLoadBalancerQuotesNoNovels(t *testing.T) {
	got := ingress.LoadBalancer(service(), []corev1.Event{failure("a", strings.Repeat("ü\n", 100_000)+"\xff", 0)})
	if len(got.Message) > 2000 || strings.Contains(got.Message, "\n") || !utf8.ValidString(got.Message) {
		t.Errorf("a long event makes a message of %d bytes: %.100q", len(got.Message), got.Message)
	}
}
