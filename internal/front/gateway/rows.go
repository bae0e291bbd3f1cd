// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// Rows are all conditions, reasons and situations of Gateways, in the order in
// which they are looked at. Status, reason and message are what an example gets.
func Rows() front.Rows {
	return append(loadBalancerRows(), dnsRows()...)
}

func rowOf(condition string, verdict ingress.Verdict, when, remedy string) front.Row {
	return front.Row{Condition: condition, Status: string(verdict.Status), Reason: verdict.Reason, When: when, Message: verdict.Message, Remedy: remedy}
}

func loadBalancerRows() []front.Row {
	row := func(when, remedy string, service *corev1.Service, events ...corev1.Event) front.Row {
		return rowOf(ingress.ConditionLoadBalancerReady, ingress.LoadBalancer(service, events), when, remedy)
	}
	service := func(kind corev1.ServiceType, addresses ...corev1.LoadBalancerIngress) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "edge-openshift-default"}, Spec: corev1.ServiceSpec{Type: kind},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: addresses}},
		}
	}
	warning := func(component, reason, message string) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "openshift-ingress", Name: "edge-openshift-default"},
			Source:         corev1.EventSource{Component: component}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		}
	}
	const balancer = corev1.ServiceTypeLoadBalancer
	return []front.Row{
		row("no Service in `openshift-ingress` has the label `gateway.networking.k8s.io/gateway-name` with the Gateway's name", "istiod makes the Service: see `ControllerInstalled` of the GatewayClass, and `Accepted` and `Programmed` of the Gateway", nil),
		row("the Service has an IP address or a hostname. Where several Services have the label, the message says which is taken", "", service(balancer, corev1.LoadBalancerIngress{IP: "192.0.2.1"})),
		row("it has none, and the service controller of the cloud says why; its newest event is quoted", "correct what the cloud complains about, such as a quota, a subnet or a security group",
			service(balancer), warning("service-controller", "SyncLoadBalancerFailed", "Error syncing load balancer: quota exceeded")),
		row("it has none, and the Service asks for none", "take the annotation `networking.istio.io/service-type` off the Gateway", service(corev1.ServiceTypeClusterIP)),
		row("it has none, and another controller warns about the Service", "correct what that controller complains about", service(balancer), warning("metallb-controller", "AllocationFailed", "no available IPs")),
		row("it has none yet, and no event says why", "wait; if it stays so, install a controller for load balancers, and see its log", service(balancer)),
	}
}

func dnsRows() []front.Row {
	const hostname = "app.example.com"
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	config := &ingress.DNSConfig{BaseDomain: "example.com", Zones: []ingress.Zone{{ID: "Z123"}, {Name: "cluster-int"}}}
	row := func(when, remedy string, in ingress.DNSInput) front.Row {
		in.Hostname = hostname
		return rowOf(ingress.ConditionDNSReady, ingress.DNS(in), when, remedy)
	}
	published := func(in ...ingress.ZoneStatus) ingress.DNSInput {
		return ingress.DNSInput{Config: config, Platform: "AWS", Record: &ingress.Record{Name: "edge-5b7-wildcard", Zones: in}}
	}
	const publisher = "see the DNS controller's log; if none runs, the record is not published"
	return []front.Row{
		row("the DNS config has no zones", "`kubectl get dns.config.openshift.io cluster -o yaml`", ingress.DNSInput{Config: &ingress.DNSConfig{}, Platform: "AWS"}),
		row("the cluster does not run in a cloud whose DNS OpenShift manages", "create the DNS record where the domain is hosted", ingress.DNSInput{Config: &ingress.DNSConfig{}, Platform: "BareMetal"}),
		row("there is no DNS config, or its kind is not served", "on plain Kubernetes, create the DNS record where the domain is hosted", ingress.DNSInput{}),
		row("no DNSRecord of the Gateway has the hostname; the message says why, if that is known", "wait for the load balancer, or correct what the message says",
			ingress.DNSInput{Config: config, Platform: "AWS", Missing: "the load balancer of service edge-openshift-default has no address yet"}),
		row("the DNSRecord's policy is Unmanaged: on AWS and GCP, that of hostnames which are not below the base domain", "create the DNS record where the domain is hosted",
			ingress.DNSInput{Config: config, Record: &ingress.Record{Name: "edge-5b7-wildcard", Unmanaged: true}}),
		row("the DNSRecord has no zones in its status", publisher, published()),
		row("publishing failed in a zone of the DNS config, whatever its result in other zones", "correct what the DNS provider complains about",
			published(ingress.ZoneStatus{Zone: ingress.Zone{ID: "Z123"}, Published: yes}, ingress.ZoneStatus{Zone: ingress.Zone{Name: "cluster-int"}, Published: no, Reason: "ProviderError", Message: "Throttling: Rate exceeded"})),
		row("the record does not say whether it is published in a zone of the DNS config", publisher, published(ingress.ZoneStatus{Zone: ingress.Zone{ID: "Z123"}, Published: unknown})),
		row("the record is published in all zones of the DNS config that the DNSRecord reports; zones outside of it do not count", "", published(ingress.ZoneStatus{Zone: ingress.Zone{ID: "Z123"}, Published: yes})),
	}
}
