// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	netutils "k8s.io/utils/net"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// ChooseService takes that Service of those with the Gateway's label that is most
// likely the one before its proxies, and names the others. One that the Gateway owns
// comes first, then one that stays, then a load balancer, then the oldest.
// One that istiod has made for another class of the Gateway is never chosen: istiod leaves it
// as it is when the class changes, and makes another.
func ChooseService(gateway *gatewayv1.Gateway, labelled []corev1.Service) (chosen *corev1.Service, others []string) {
	candidates := make([]*corev1.Service, 0, len(labelled))
	for i := range labelled {
		candidates = append(candidates, &labelled[i])
	}
	isOther := func(s *corev1.Service) bool {
		class, ok := s.Labels[LabelClass]
		return ok && class != string(gateway.Spec.GatewayClassName)
	}
	slices.SortFunc(candidates, func(a, b *corev1.Service) int {
		return cmp.Or(
			first(!isOther(a), !isOther(b)),
			first(isOwned(a, gateway), isOwned(b, gateway)),
			first(a.DeletionTimestamp.IsZero(), b.DeletionTimestamp.IsZero()),
			first(a.Spec.Type == corev1.ServiceTypeLoadBalancer, b.Spec.Type == corev1.ServiceTypeLoadBalancer),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	for i, candidate := range candidates {
		if i == 0 && !isOther(candidate) {
			chosen = candidate
			continue
		}
		others = append(others, candidate.Name)
	}
	return chosen, others
}

// first orders those first that have a property.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isOwned(service *corev1.Service, gateway *gatewayv1.Gateway) bool {
	for _, owner := range service.OwnerReferences {
		if owner.UID == gateway.UID {
			return true
		}
	}
	return false
}

// IsStale says whether a record was left by OpenShift's ingress operator for a hostname that the
// Gateway does not have any more: by its name, which has the hostname in it, the Service that owns
// it, and that it is of no package.
func IsStale(gateway *gatewayv1.Gateway, record *ingress.Record, owners []metav1.OwnerReference) bool {
	if record.Deleting || record.Package != "" || record.Name != RecordName(gateway.Name, record.Hostname) || slices.Contains(hostnames(gateway), record.Hostname) {
		return false
	}
	ofService := func(ref metav1.OwnerReference) bool { return ref.APIVersion == "v1" && ref.Kind == "Service" }
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return !ofService(ref) })
}

// ChooseRecords takes a record for each hostname. Where there are several, that of our
// own package comes first.
func ChooseRecords(gateway *gatewayv1.Gateway, labelled []ingress.Record) map[string]*ingress.Record {
	own := PackageName(gateway.Name)
	chosen := map[string]*ingress.Record{}
	for i := range labelled {
		next := &labelled[i]
		before, ok := chosen[next.Hostname]
		if !ok || cmp.Or(first(!next.Deleting, !before.Deleting), first(next.Package == own, before.Package == own), cmp.Compare(next.Name, before.Name)) < 0 {
			chosen[next.Hostname] = next
		}
	}
	return chosen
}

// address is what records point at.
type address struct{ target, kind string }

// addressOf is the first address of a Service's load balancer that a record can point
// at, or why there is none.
func addressOf(service *corev1.Service) (address, string) {
	reason := fmt.Sprintf("the load balancer of service %s has no address yet", service.Name)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		switch {
		case ingress.Hostname != "" && ingress.IP != "":
			return address{}, fmt.Sprintf("the load balancer of service %s has both a hostname and an IP address", service.Name)
		case ingress.Hostname != "":
			return address{target: ingress.Hostname, kind: "CNAME"}, ""
		case netutils.IsIPv4String(ingress.IP):
			return address{target: ingress.IP, kind: "A"}, ""
		case ingress.IP != "":
			reason = fmt.Sprintf("a DNSRecord cannot point at %s, the address of service %s: it accepts hostnames and IPv4 addresses", ingress.IP, service.Name)
		}
	}
	return address{}, reason
}
