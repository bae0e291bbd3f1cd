// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// MaxConditions is how many conditions a Gateway takes, and each of its listeners.
const MaxConditions = 8

// GatewayInput is what a Gateway's conditions are made from.
type GatewayInput struct {
	// Service is the one before the Gateway's proxies, nil if there is none. Others are
	// the names of further ones that claim to be it.
	Service *corev1.Service
	Others  []string
	// Events may be about any Service.
	Events []corev1.Event

	// Config and Platform are those of [DNSInput].
	Config   *DNSConfig
	Platform string
	// Records are the Gateway's, at most one for a hostname.
	Records map[string]*Record
	// Missing says why a hostname has no record, if that is known.
	Missing string

	// Now is when a condition has changed that changes.
	Now metav1.Time
}

// Gateway sets LoadBalancerReady on a Gateway and DNSReady on those of its listeners
// that have a hostname, and removes DNSReady from its other listeners. It changes
// nothing else.
//
// Listeners are found by name: the controller that owns the list may carry
// conditions over by position. Where a list has no room for one more condition
// nothing is added; see [Full].
func Gateway(gateway *gatewayv1.Gateway, in GatewayInput) {
	verdict := LoadBalancer(in.Service, in.Events)
	if len(in.Others) > 0 && in.Service != nil {
		verdict.Message = fmt.Sprintf("%s Service %s is taken; more carry the Gateway's label: %s.",
			sentence(verdict.Message), in.Service.Name, strings.Join(firstNames(in.Others), ", "))
	}
	set(&gateway.Status.Conditions, verdict.Condition(ConditionLoadBalancerReady, gateway.Generation, in.Now))
	hostnames := Hostnames(gateway)
	for i := range gateway.Status.Listeners {
		listener := &gateway.Status.Listeners[i]
		hostname, ok := hostnames[listener.Name]
		if !ok {
			meta.RemoveStatusCondition(&listener.Conditions, ConditionDNSReady)
			continue
		}
		verdict := DNS(DNSInput{Hostname: hostname, Config: in.Config, Platform: in.Platform, Record: in.Records[hostname], Missing: in.Missing})
		set(&listener.Conditions, verdict.Condition(ConditionDNSReady, gateway.Generation, in.Now))
	}
}

// Full are the places of a Gateway that have no room for our condition: the Gateway
// itself, and listeners with a hostname.
func Full(gateway *gatewayv1.Gateway) []string {
	var full []string
	if !hasRoom(gateway.Status.Conditions, ConditionLoadBalancerReady) {
		full = append(full, "Gateway "+gateway.Name)
	}
	hostnames := Hostnames(gateway)
	for i := range gateway.Status.Listeners {
		listener := &gateway.Status.Listeners[i]
		if _, ok := hostnames[listener.Name]; ok && !hasRoom(listener.Conditions, ConditionDNSReady) {
			full = append(full, "listener "+string(listener.Name))
		}
	}
	return full
}

// Hostnames are those of a Gateway's listeners, without a dot at the end, by the
// listeners' names. Listeners without one are not among them.
func Hostnames(gateway *gatewayv1.Gateway) map[gatewayv1.SectionName]string {
	hostnames := map[gatewayv1.SectionName]string{}
	for i := range gateway.Spec.Listeners {
		listener := &gateway.Spec.Listeners[i]
		if listener.Hostname == nil {
			continue
		}
		if hostname := Hostname(string(*listener.Hostname)); hostname != "" {
			hostnames[listener.Name] = hostname
		}
	}
	return hostnames
}

// set sets a condition if there is room for it.
func set(conditions *[]metav1.Condition, condition metav1.Condition) {
	if hasRoom(*conditions, condition.Type) {
		meta.SetStatusCondition(conditions, condition)
	}
}

func hasRoom(conditions []metav1.Condition, kind string) bool {
	return len(conditions) < MaxConditions || meta.FindStatusCondition(conditions, kind) != nil
}

// firstNames are few enough names for a message.
func firstNames(names []string) []string {
	if len(names) <= maxZones {
		return names
	}
	return append(slices.Clone(names[:maxZones]), fmt.Sprintf("and %d more", len(names)-maxZones))
}

// RemoveFromGateway takes the conditions off a Gateway that was ours and is another
// controller's now. A condition of the same type with a reason that is none of ours
// is that controller's, and stays.
func RemoveFromGateway(gateway *gatewayv1.Gateway) {
	remove(&gateway.Status.Conditions, ConditionLoadBalancerReady, loadBalancerReasons)
	for i := range gateway.Status.Listeners {
		remove(&gateway.Status.Listeners[i].Conditions, ConditionDNSReady, dnsReasons)
	}
}

var (
	loadBalancerReasons = []string{ReasonServiceNotFound, ReasonLoadBalancerProvisioned, ReasonSyncLoadBalancerFailed, ReasonLoadBalancerPending}
	dnsReasons          = []string{ReasonNoDNSZones, ReasonRecordNotFound, ReasonUnmanagedDNS, ReasonNoZones, ReasonFailedZones, ReasonUnknownZones, ReasonNoFailedZones}
)

// QuotesProvider says whether the message of a condition with a reason has words of a cloud or DNS
// provider.
func QuotesProvider(reason string) bool {
	return slices.Contains([]string{ReasonSyncLoadBalancerFailed, ReasonFailedZones, ReasonUnknownZones}, reason)
}

func remove(conditions *[]metav1.Condition, kind string, reasons []string) {
	if c := meta.FindStatusCondition(*conditions, kind); c != nil && slices.Contains(reasons, c.Reason) {
		meta.RemoveStatusCondition(conditions, kind)
	}
}
