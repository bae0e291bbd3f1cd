// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// edge is a Gateway with a listener for each hostname, which may be empty.
func edge(hostnames ...string) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: gateway.Namespace, Name: "edge", UID: "gw", Generation: 3}}
	g.Spec.GatewayClassName = "openshift-default"
	for i, hostname := range hostnames {
		listener := gatewayv1.Listener{Name: gatewayv1.SectionName(fmt.Sprintf("l%d", i))}
		if hostname != "" {
			listener.Hostname = new(gatewayv1.Hostname(hostname))
		}
		g.Spec.Listeners = append(g.Spec.Listeners, listener)
	}
	return g
}

func balanced(addresses ...corev1.LoadBalancerIngress) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: gateway.Namespace, Name: "edge-openshift-default", Labels: map[string]string{
			"gateway.istio.io/managed": "openshift.io-gateway-controller-v1", gateway.LabelGateway: "edge", "strata.run/package": "other",
		}},
		Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: addresses}},
	}
}

// facts are those of a cluster on AWS where everything is as it should be.
func facts(change ...func(*gateway.Facts)) gateway.Facts {
	f := gateway.Facts{
		Class: gateway.ClassOurs, RecordsServed: true, Platform: "AWS",
		Config:  &ingress.DNSConfig{BaseDomain: "cluster.example.com", Zones: []ingress.Zone{{ID: "Z1"}}},
		Service: balanced(corev1.LoadBalancerIngress{Hostname: "lb.aws.example.net"}),
	}
	for _, c := range change {
		c(&f)
	}
	return f
}
