// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Of a revision whose content is lost, the inventory gives the objects back one by
// one, in order, and keeps those that are always retained.
func TestFromInventory(t *testing.T) {
	entry := func(group, kind, namespace, name string) v1alpha1.InventoryEntry {
		return v1alpha1.InventoryEntry{ObjectReference: v1alpha1.ObjectReference{Group: group, Version: "v1", Kind: kind, Namespace: namespace, Name: name}, UID: "u"}
	}
	revision := &v1alpha1.Revision{
		Spec: v1alpha1.RevisionSpec{Revision: 3},
		Status: v1alpha1.RevisionStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}},
			Inventory: []v1alpha1.InventoryEntry{
				entry("apiextensions.k8s.io", "CustomResourceDefinition", "", "gateways.networking.istio.io"),
				entry("", "Namespace", "", "istio-system"),
				entry("apps", "Deployment", "istio-system", "istiod"),
			},
		},
	}
	loaded := FromInventory(revision)
	if loaded.Number != 3 || !loaded.Succeeded {
		t.Errorf("revision %d, succeeded %t; want 3 and true", loaded.Number, loaded.Succeeded)
	}
	type object struct {
		Kind, Namespace, Name string
		Retain                bool
	}
	var got [][]object
	for _, phase := range loaded.Phases {
		var own []object
		for _, o := range phase.Objects {
			own = append(own, object{o.Manifest.GroupVersionKind().String(), o.Manifest.GetNamespace(), o.Manifest.GetName(), o.Retain})
		}
		got = append(got, own)
	}
	want := [][]object{
		{{"apiextensions.k8s.io/v1, Kind=CustomResourceDefinition", "", "gateways.networking.istio.io", true}},
		{{"/v1, Kind=Namespace", "", "istio-system", true}},
		{{"apps/v1, Kind=Deployment", "istio-system", "istiod", false}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if err := loaded.Validate(); err != nil {
		t.Errorf("the engine refuses it: %v", err)
	}
	if empty := FromInventory(&v1alpha1.Revision{}); len(empty.Phases) != 0 {
		t.Errorf("an empty inventory gives %d phases", len(empty.Phases))
	}
}
