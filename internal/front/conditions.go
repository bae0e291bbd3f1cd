// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/telemetry"
)

// ConditionsOf are, for metrics, the conditions of a part of a resource, such as a listener, that
// have one of the types, all of them when none is given. The part is empty for the whole.
func ConditionsOf(resource client.Object, part string, conditions []metav1.Condition, types ...string) []telemetry.ResourceCondition {
	var all []telemetry.ResourceCondition
	for _, c := range conditions {
		if len(types) == 0 || slices.Contains(types, c.Type) {
			all = append(all, telemetry.ResourceCondition{resource.GetNamespace(), resource.GetName(), part, c.Type, string(c.Status), c.Reason})
		}
	}
	return all
}
