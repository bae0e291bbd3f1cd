// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

func TestIsMarked(t *testing.T) {
	const finalizer = `{"f:metadata":{"f:finalizers":{".":{},"v:\"openshift.io/ingress-operator-sail-finalizer\"":{}}}}`
	const condition = `{"f:status":{"f:conditions":{"k:{\"type\":\"ControllerInstalled\"}":{"f:message":{}}}}}`
	by := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	cases := map[string]struct {
		reason      string
		finalizers  []string
		conditions  []string
		entries     []metav1.ManagedFieldsEntry
		held, wants bool
	}{
		"Bare":           {reason: "there is nothing to take off", entries: []metav1.ManagedFieldsEntry{by(front.Manager, finalizer)}},
		"OurFinalizer":   {reason: "the manager has set it", finalizers: []string{Finalizer}, entries: []metav1.ManagedFieldsEntry{by(front.Manager, finalizer)}, held: true, wants: true},
		"OurCondition":   {reason: "the manager has written its message", conditions: []string{ConditionControllerInstalled}, entries: []metav1.ManagedFieldsEntry{by("other", condition), by(front.Manager, condition)}, held: true, wants: true},
		"TheirFinalizer": {reason: "the other operator has set it since", finalizers: []string{Finalizer}, entries: []metav1.ManagedFieldsEntry{by("other", finalizer), by(front.Manager, `{"f:metadata":{}}`)}, held: true},
		"TheirCondition": {reason: "the other operator has set it since", conditions: []string{ConditionControllerInstalled}, entries: []metav1.ManagedFieldsEntry{by("other", condition)}, held: true},
		"NoEntries":      {reason: "a class without managedFields must not be held for ever", finalizers: []string{Finalizer}, held: true, wants: true},
		"Foreign":        {reason: "other finalizers and conditions are not the front's", finalizers: []string{"example.com/other"}, conditions: []string{"Accepted"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Finalizers: tc.finalizers, ManagedFields: tc.entries}}
			for _, c := range tc.conditions {
				class.Status.Conditions = append(class.Status.Conditions, metav1.Condition{Type: c})
			}
			if got := isHeld(class); got != tc.held {
				t.Errorf("%s: held %t, want %t", tc.reason, got, tc.held)
			}
			if got := isMarked(class); got != tc.wants {
				t.Errorf("%s: marked %t, want %t", tc.reason, got, tc.wants)
			}
		})
	}
}

// A class that was annotated goes without its istiod: it may be another operator's by now.
func TestLeave_HandedOver(t *testing.T) {
	class := func(annotations map[string]string) *gatewayv1.GatewayClass {
		return &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}
	}
	for name, tc := range map[string]struct {
		class *gatewayv1.GatewayClass
		want  int
	}{
		"Annotated": {class(map[string]string{AnnotationHandOver: "true"}), 3},
		"Deleted":   {class(nil), 0},
	} {
		group := front.Group[*gatewayv1.GatewayClass]{Deleting: []*gatewayv1.GatewayClass{tc.class}, Existing: []v1alpha1.Package{{}}}
		if got := teardown(front.Input[*gatewayv1.GatewayClass, observed]{Group: group}).Orphans; len(got) != tc.want {
			t.Errorf("%s: the packages %v are released, want %d", name, got, tc.want)
		}
	}
}
