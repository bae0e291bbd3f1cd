// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Condition is a condition that a front has set on one of its resources, for metrics.
type Condition struct {
	// Namespace and Name are the resource's, and Part is what of it the condition is about,
	// such as a listener; empty for the whole.
	Namespace, Name, Part string
	// Type, Status and Reason are the condition's.
	Type, Status, Reason string
}

// ConditionsOf are the conditions of a part of a resource that have one of the types, all of
// them when none is given.
func ConditionsOf(resource client.Object, part string, conditions []metav1.Condition, types ...string) []Condition {
	wanted := map[string]bool{}
	for _, name := range types {
		wanted[name] = true
	}
	var all []Condition
	for _, c := range conditions {
		if len(types) == 0 || wanted[c.Type] {
			all = append(all, Condition{
				Namespace: resource.GetNamespace(), Name: resource.GetName(), Part: part, Type: c.Type, Status: string(c.Status), Reason: c.Reason,
			})
		}
	}
	return all
}
