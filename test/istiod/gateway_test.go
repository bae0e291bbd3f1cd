// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// gatewayName is the Gateway that is there throughout.
const gatewayName = "web"

// listener is one for HTTP; an empty hostname stands for none.
func listener(name, hostname string, port int) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: gatewayv1.PortNumber(port), Protocol: gatewayv1.HTTPProtocolType}
	if hostname != "" {
		h := gatewayv1.Hostname(hostname)
		l.Hostname = &h
	}
	return l
}

// createGateway makes a Gateway without a label: that it is istiod's to look after is
// for the manager to say.
func createGateway(t *testing.T, namespace, name string, listeners ...gatewayv1.Listener) {
	t.Helper()
	must(t, admin.Create(t.Context(), &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: gatewayclass.DefaultClassName, Listeners: listeners},
	}))
}

// programGateway: from the ConfigMaps that were rendered for it, istiod makes a Gateway's
// Deployment and Service, and with an address the Gateway is programmed.
func programGateway(t *testing.T) {
	const name, child = gatewayName, gatewayName + "-" + gatewayclass.DefaultClassName
	deployment := eventuallyDeployed(t, gatewayclass.Namespace, child)
	checkProxy(t, deployment)
	scaler := get(t, &autoscalingv2.HorizontalPodAutoscaler{}, gatewayclass.Namespace, child)
	if *scaler.Spec.MinReplicas != 2 || scaler.Spec.MaxReplicas != 10 {
		t.Errorf("the autoscaler has %d to %d replicas, want the defaults of the class, 2 to 10", *scaler.Spec.MinReplicas, scaler.Spec.MaxReplicas)
	}
	eventuallyGateway(t, gatewayclass.Namespace, name, "Accepted True Accepted", "LoadBalancerReady False LoadBalancerPending", "Programmed False AddressNotAssigned", "ResolvedRefs True ResolvedRefs")
	balance(t, gatewayclass.Namespace, child, "192.0.2.10")
	eventuallyGateway(t, gatewayclass.Namespace, name, "Accepted True Accepted", "LoadBalancerReady True LoadBalancerProvisioned", "Programmed True Programmed", "ResolvedRefs True ResolvedRefs")
	if diff := cmp.Diff([]string{istiodWriter, managerWriter}, writers(getGateway(t, name), "status")); diff != "" {
		t.Errorf("the status was written by other managers than the two:\n%s", diff)
	}
	if got := getGateway(t, name).Status.Addresses; len(got) != 1 || got[0].Value != "192.0.2.10" {
		t.Errorf("the Gateway has the addresses %v, want that of the load balancer", got)
	}
}

// programElsewhere: a Gateway in another namespace is istiod's alone.
func programElsewhere(t *testing.T) {
	const namespace, name, child = "default", "elsewhere", "elsewhere-" + gatewayclass.DefaultClassName
	createGateway(t, namespace, name, listener("good", goodHost, 80))
	eventuallyDeployed(t, namespace, child)
	balance(t, namespace, child, "192.0.2.11")
	settled := []string{"Accepted True Accepted", "Programmed True Programmed", "ResolvedRefs True ResolvedRefs"}
	eventuallyGateway(t, namespace, name, settled...)
	settle(t)
	eventuallyGateway(t, namespace, name, settled...)
	object := get(t, &gatewayv1.Gateway{}, namespace, name)
	if diff := cmp.Diff(listenerConditions, summary(object.Status.Listeners[0].Conditions, object.Generation)); diff != "" {
		t.Errorf("the conditions of the listener:\n%s", diff)
	}
	must(t, admin.Delete(t.Context(), object))
}

// eventuallyDeployed waits until the proxies of a Gateway are available.
func eventuallyDeployed(t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	list := &appsv1.DeploymentList{}
	planetest.Eventually(t, "the proxies of "+name, func() (bool, error) {
		err := admin.List(t.Context(), list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		return list.Items[0].Status.AvailableReplicas == 2, fmt.Errorf("%d replicas are available", list.Items[0].Status.AvailableReplicas)
	})
	return &list.Items[0]
}

// checkProxy looks for what comes from the injection templates, from the defaults of
// the class, and from the mesh configuration.
func checkProxy(t *testing.T, deployment *appsv1.Deployment) {
	t.Helper()
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Image != proxy {
		t.Errorf("the proxy has the image %s, want %s", container.Image, proxy)
	}
	if container.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("the proxy has the termination message policy %s, want the default of the class", container.TerminationMessagePolicy)
	}
	for _, v := range container.Env {
		if v.Name == "PROXY_CONFIG" && !strings.Contains(v.Value, `"envoyDebugHeaders":{"disabled":true}`) {
			t.Errorf("the proxy has the configuration %s, want that of the mesh", v.Value)
		}
	}
	for _, v := range deployment.Spec.Template.Spec.Volumes {
		if v.Name == "istiod-ca-cert" && (v.ConfigMap == nil || v.ConfigMap.Name != gatewayclass.CAConfigMap) {
			t.Errorf("the proxy takes istiod's certificate from %v, want ConfigMap %s", v.VolumeSource, gatewayclass.CAConfigMap)
		}
	}
}

// balance plays the load balancer.
func balance(t *testing.T, namespace, service, address string) {
	t.Helper()
	object := get(t, &corev1.Service{}, namespace, service)
	if object.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Fatalf("the Service is of type %s", object.Spec.Type)
	}
	before := object.DeepCopy()
	object.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	must(t, admin.Status().Patch(t.Context(), object, client.MergeFrom(before)))
}

// eventuallyGateway waits until a Gateway has exactly these conditions, all of its
// generation.
func eventuallyGateway(t *testing.T, namespace, name string, want ...string) {
	t.Helper()
	eventually(t, "the conditions of Gateway "+name, func() string {
		gateway := get(t, &gatewayv1.Gateway{}, namespace, name)
		return cmp.Diff(want, summary(gateway.Status.Conditions, gateway.Generation))
	})
}
