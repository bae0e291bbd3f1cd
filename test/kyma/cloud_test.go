// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/localplane"
)

const awsType = "service.beta.kubernetes.io/aws-load-balancer-type"

// ingressService is that of the ingress gateway.
func ingressService(t *testing.T) *corev1.Service {
	t.Helper()
	o := &corev1.Service{}
	if err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "istio-ingressgateway"}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// hasFilter says whether the EnvoyFilter for the proxy protocol is there.
func hasFilter(t *testing.T) bool {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"})
	err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "proxy-protocol"}, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// On AWS a ConfigMap keeps a classic load balancer, and nothing exchanges one that is not.
func balancer(t *testing.T) {
	const elb = "elb-deprecated"
	configMap(t, "istio-system", elb, "a", "b")
	node := &corev1.Node{}
	if err := admin.Get(t.Context(), types.NamespacedName{Name: localplane.NodeName}, node); err != nil {
		t.Fatal(err)
	}
	before := node.DeepCopy()
	node.Spec.ProviderID = "aws:///eu-central-1a/i-1"
	if err := admin.Patch(t.Context(), node, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the classic load balancer", func() (bool, error) {
		annotations := ingressService(t).Annotations
		return annotations["service.beta.kubernetes.io/aws-load-balancer-proxy-protocol"] == "*" && annotations[awsType] == "", fmt.Errorf("%v", annotations)
	})
	eventually(t, "the EnvoyFilter", func() (bool, error) { return hasFilter(t), nil })
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	removeConfigMap(t, "istio-system", elb)
	eventually(t, "the network load balancer", func() (bool, error) { return ingressService(t).Annotations[awsType] == "nlb", nil })
	eventually(t, "the EnvoyFilter to go", func() (bool, error) { return !hasFilter(t), nil })
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	revision := mesh(t).Status.TargetRevision
	configMap(t, "istio-system", elb, "a", "b")
	manifest(t, istio("second", "{config: {numTrustedProxies: 1}}"))
	eventually(t, "the next revision", func() (bool, error) { return mesh(t).Status.CurrentRevision == revision+1, nil })
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	if kind := ingressService(t).Annotations[awsType]; kind != "nlb" || hasFilter(t) {
		t.Errorf("a network load balancer was exchanged for %q", kind)
	}
	removeConfigMap(t, "istio-system", elb)
}

// Two IP stacks are asked for when the provisioning says so and the manager may experiment. This
// cluster has one, which the API server tells; what ran before serves.
func dualStack(t *testing.T) {
	const info = "kyma-provisioning-info"
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	revision, services := mesh(t).Status.TargetRevision, ingressService(t)
	configMap(t, "kyma-system", info, "details", "networkDetails: [")
	reported := state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonReconcileSucceeded)
	if !strings.Contains(reported.Status.Description, info) || mesh(t).Status.TargetRevision != revision {
		t.Errorf("malformed: %s", reported.Status.Description)
	}
	configMap(t, "kyma-system", info, "details", "networkDetails: {dualStackIPEnabled: true}")
	eventually(t, "the refusal", func() (bool, error) {
		got := named("second")
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(got), got)
		return got.Status.State == v1alpha2.StateError && strings.Contains(got.Status.Description, "ipFamilyPolicy"), fmt.Errorf("%w: %s: %s", err, got.Status.State, got.Status.Description)
	})
	if now := ingressService(t); now.UID != services.UID || now.Spec.IPFamilyPolicy == nil || *now.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		t.Errorf("the Service is %+v", now.Spec)
	}
	// A manager that may not experiment does not look at it.
	allowExperimental = false
	manifest(t, istio("second", plain))
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	if strings.Contains(input(t), "ISTIO_DUAL_STACK") {
		t.Error("the mesh has two IP stacks without leave")
	}
	removeConfigMap(t, "kyma-system", info)
}
