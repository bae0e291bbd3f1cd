// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// serviceController is the component that makes load balancers, in a cloud's
	// controller manager, and failedSync is the reason of its events when it cannot.
	serviceController = "service-controller"
	failedSync        = "SyncLoadBalancerFailed"
)

// LoadBalancer judges the load balancer of a Service, which is nil if there is none.
// Of the events those count that are about this very Service; the newest decides.
func LoadBalancer(service *corev1.Service, events []corev1.Event) Verdict {
	if service == nil || service.Name == "" {
		return Verdict{metav1.ConditionFalse, ReasonServiceNotFound, "The LoadBalancer service resource is missing"}
	}
	if hasAddress(service) {
		return Verdict{metav1.ConditionTrue, ReasonLoadBalancerProvisioned, "The LoadBalancer service is provisioned"}
	}
	about := warnings(service, events)
	for _, e := range about {
		if component(&e) == serviceController && e.Reason == failedSync {
			return Verdict{metav1.ConditionFalse, ReasonSyncLoadBalancerFailed, fmt.Sprintf(
				"The %s reports %s for service %s: %s The logs of the cloud-controller-manager may tell more.",
				serviceController, failedSync, service.Name, sentence(quote(e.Message)))}
		}
	}
	message := "The LoadBalancer service is pending"
	switch {
	case service.Spec.Type != "" && service.Spec.Type != corev1.ServiceTypeLoadBalancer:
		message += fmt.Sprintf(": service %s is of type %s, which gets no load balancer", service.Name, service.Spec.Type)
	case len(about) > 0:
		message += fmt.Sprintf(": %s warns about service %s, %s: %s", cmp.Or(component(&about[0]), "another controller"), service.Name, about[0].Reason, quote(about[0].Message))
	}
	return Verdict{metav1.ConditionFalse, ReasonLoadBalancerPending, message}
}

// hasAddress says whether a load balancer stands before a Service.
func hasAddress(service *corev1.Service) bool {
	return slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
		return i.Hostname != "" || i.IP != ""
	})
}

// warnings are the warnings about a Service, and not one of the same name before it,
// newest first.
func warnings(service *corev1.Service, events []corev1.Event) []corev1.Event {
	var about []corev1.Event
	for i := range events {
		e, object := &events[i], events[i].InvolvedObject
		if object.Kind == "Service" && object.Namespace == service.Namespace && object.Name == service.Name && object.UID == service.UID &&
			(e.Type == corev1.EventTypeWarning || e.Reason == failedSync) {
			about = append(about, *e)
		}
	}
	slices.SortFunc(about, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(&b).Compare(lastSeen(&a)), cmp.Compare(a.Name, b.Name))
	})
	return about
}

// component is who reports an event, in the older or the newer form of events.
func component(e *corev1.Event) string { return cmp.Or(e.Source.Component, e.ReportingController) }

// lastSeen is when an event happened last.
func lastSeen(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	for _, at := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if at.After(last) {
			last = at
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}
