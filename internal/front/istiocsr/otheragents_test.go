// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// What the next agent takes over of the one before costs that one nothing while it runs.
func TestObserver_Neighbours(t *testing.T) {
	binding := front.Untyped(bindingKind)
	binding.SetNamespace("mesh")
	binding.SetName(AgentName)
	var subjects []any
	for _, namespace := range []string{"a", "runs", "gone", "goes", "stays"} {
		subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": AgentName})
	}
	binding.Object["subjects"] = subjects
	objects := []*unstructured.Unstructured{binding}
	for _, namespace := range []string{"a", "runs", "goes", "stays", "elsewhere"} {
		deployment := front.Untyped(deploymentKind)
		deployment.SetNamespace(namespace)
		deployment.SetName(AgentName)
		objects = append(objects, deployment)
	}
	cases := map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		deleted []*operatorv1alpha1.IstioCSR
		agents  []string // namespaces with a package
		want    []string
	}{
		"Unbound": {reason: "before there is a binding no account has rights"},
		"Running": {reason: "an agent that runs has them on, one that is gone has not", objects: objects, want: []string{"goes", "runs", "stays"}},
		"Deleting": {
			reason: "of those that are being deleted only one that goes loses them", objects: objects, want: []string{"runs", "stays"},
			deleted: []*operatorv1alpha1.IstioCSR{csrIn("goes", true), csrIn("stays", false)}, agents: []string{"a", "goes", "stays"},
		},
		"DeletingWithoutAgent": {
			reason: "one that never had the agent takes nothing from it", objects: objects, want: []string{"goes", "runs", "stays"},
			deleted: []*operatorv1alpha1.IstioCSR{csrIn("goes", true)}, agents: []string{"a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ic := csrIn("a", false)
			ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
			facts := observed{}
			if err := newCluster(t, &fakeKeeper{}, nil, tc.objects...).observeOtherAgents(t.Context(), ic, csrGroup{Deleting: tc.deleted, Existing: packagesOf(tc.agents...)}, &facts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(facts.LeftApart, tc.want) {
				t.Errorf("%s: agents without readable arguments have the issuer of this one: %q", tc.reason, facts.LeftApart)
			}
			if !slices.Equal(facts.LeftRunning, tc.want) {
				t.Errorf("%s: left running are %q, want %q", tc.reason, facts.LeftRunning, tc.want)
			}
		})
	}
}

// Agents of one issuer share their CAs; the CAs of others are carried over once. Which agent
// publishes is known by the pod that holds the Lease.
func TestObserver_LeftAgents(t *testing.T) {
	binding := front.Untyped(bindingKind)
	binding.SetNamespace("mesh")
	binding.SetName(AgentName)
	var subjects []any
	objects := []*unstructured.Unstructured{binding}
	for namespace, given := range map[string][]any{
		"alike": {"--issuer-name=ca"}, "apart": {"--issuer-name=other"},
		// A ConfigMap beats the arguments, if there is one.
		"follows": {"--issuer-name=ca", "--runtime-issuance-config-map-name=issuer", "--runtime-issuance-config-map-namespace=follows"},
		"gone":    {"--issuer-name=ca", "--runtime-issuance-config-map-name=none", "--runtime-issuance-config-map-namespace=gone"},
	} {
		subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": AgentName})
		deployment := front.Untyped(deploymentKind)
		deployment.SetNamespace(namespace)
		deployment.SetName(AgentName)
		containers := []any{map[string]any{"name": AgentName, "args": given}}
		if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, deployment)
	}
	binding.Object["subjects"] = subjects
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "follows", "name": "issuer"},
		"data": map[string]any{"issuer-name": "other", "issuer-kind": "Issuer", "issuer-group": "cert-manager.io"},
	}})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "mesh", Name: LeaseName}}
	lease.Spec.HolderIdentity = new("agent-1_uuid")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "apart", Name: "agent-1"}}
	gone := csrIn("before", true)
	gone.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
	elsewhere := csrIn("elsewhere", true)
	elsewhere.Spec.IstioCSRConfig.Istio.Namespace = "other"
	for name, tc := range map[string]struct {
		reason    string
		live      []client.Object
		publisher string
		again     time.Duration
	}{
		"NoLease":  {reason: "no agent publishes"},
		"Held":     {reason: "the pod says whose agent it is", live: []client.Object{lease, pod}, publisher: "apart"},
		"HeldGone": {reason: "a pod that is gone is followed by another one, of which no event tells", live: []client.Object{lease}, again: publisherAgain},
	} {
		t.Run(name, func(t *testing.T) {
			ic := csrIn("a", false)
			ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
			ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Name = "ca"
			o := newCluster(t, &fakeKeeper{}, nil, objects...)
			o.live = fake.NewClientBuilder().WithObjects(tc.live...).Build()
			facts := observed{}
			if err := o.observeOtherAgents(t.Context(), ic, csrGroup{Deleting: []*operatorv1alpha1.IstioCSR{gone, elsewhere}}, &facts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(facts.LeftApart, []string{"apart", "follows"}) || !slices.Equal(facts.Before, []string{"apart", "before", "follows"}) {
				t.Errorf("apart are %q, before this one were %q", facts.LeftApart, facts.Before)
			}
			if facts.Publisher != tc.publisher || facts.Again != tc.again {
				t.Errorf("%s: %q publishes, and is asked about again after %s", tc.reason, facts.Publisher, facts.Again)
			}
		})
	}
}

// An agent that follows a ConfigMap shares the issuer of another one that follows the like.
func TestObserver_SharesIssuer(t *testing.T) {
	ic := csrIn("a", false)
	ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Name = "ca"
	other := RuntimeIssuer{Name: "other", Kind: "Issuer", Group: "cert-manager.io"}
	for name, tc := range map[string]struct {
		own  RuntimeIssuer
		left commandLine
		want bool
	}{
		"Reference":  {RuntimeIssuer{Problem: "gone"}, commandLine{"issuer-name": {"ca"}}, true},
		"ByFile":     {other, commandLine{"issuer-name": {"other"}}, true},
		"OwnFollows": {other, commandLine{"issuer-name": {"ca"}}, false},
		"Kind":       {RuntimeIssuer{}, commandLine{"issuer-name": {"ca"}, "issuer-kind": {"ClusterIssuer"}}, false},
		"Unreadable": {RuntimeIssuer{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := (&observer{}).sharesIssuer(t.Context(), ic, tc.own, tc.left); err != nil || got != tc.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
