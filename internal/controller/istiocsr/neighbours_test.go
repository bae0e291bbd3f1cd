// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render/istiocsr"
)

// What the next agent takes over of the one before costs that one nothing while it runs.
func TestObserver_Neighbours(t *testing.T) {
	binding := front.Untyped(bindingKind)
	binding.SetNamespace("mesh")
	binding.SetName(istiocsr.AgentName)
	var subjects []any
	for _, namespace := range []string{"a", "runs", "gone", "goes", "stays"} {
		subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": istiocsr.AgentName})
	}
	binding.Object["subjects"] = subjects
	objects := []*unstructured.Unstructured{binding}
	for _, namespace := range []string{"a", "runs", "goes", "stays", "elsewhere"} {
		deployment := front.Untyped(deploymentKind)
		deployment.SetNamespace(namespace)
		deployment.SetName(istiocsr.AgentName)
		objects = append(objects, deployment)
	}
	cases := map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		leaving []*operatorv1alpha1.IstioCSR
		agents  []string // namespaces with a package
		want    []string
	}{
		"Nobody":  {reason: "before there is a binding nobody has rights"},
		"Running": {reason: "an agent that runs has them on, one that is gone has not", objects: objects, want: []string{"goes", "runs", "stays"}},
		"Leaving": {
			reason: "of those that are being deleted only one that goes loses them", objects: objects, want: []string{"runs", "stays"},
			leaving: []*operatorv1alpha1.IstioCSR{csrIn("goes", true), csrIn("stays", false)}, agents: []string{"a", "goes", "stays"},
		},
		"LeavingWithoutAgent": {
			reason: "one that never had the agent takes nothing from it", objects: objects, want: []string{"goes", "runs", "stays"},
			leaving: []*operatorv1alpha1.IstioCSR{csrIn("goes", true)}, agents: []string{"a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ic := csrIn("a", false)
			ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
			facts := observed{}
			if err := newCluster(t, &fakeKeeper{}, nil, tc.objects...).observeNeighbours(t.Context(), ic, csrGroup{Leaving: tc.leaving, Existing: packagesOf(tc.agents...)}, &facts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(facts.LeftRunning, tc.want) {
				t.Errorf("%s: left running are %q, want %q", tc.reason, facts.LeftRunning, tc.want)
			}
		})
	}
}
