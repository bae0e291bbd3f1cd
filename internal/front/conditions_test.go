// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/telemetry"
)

// The metrics get what resources say after each pass, and nothing more once they are gone.
func TestReconciler_Conditions(t *testing.T) {
	f := newFixture(t)
	f.loop.Front.Finalizer = ""
	f.loop.Front.Conditions = func(class *gatewayv1.GatewayClass) []telemetry.ResourceCondition {
		return ConditionsOf(class, "", class.Status.Conditions, "ControllerInstalled")
	}
	got := map[string]string{}
	f.loop.conditions = func(front, group string, all []telemetry.ResourceCondition) {
		got[front+" "+group] = fmt.Sprint(all)
	}
	f.class("a", ours)
	f.mustPass()
	name := f.loop.Front.Name
	want(t, "the pass sets a condition", "conditions", map[string]string{name + " " + name: "[[ a  ControllerInstalled Unknown Pending]]"}, got)
	f.deleteClass("a")
	for range 5 {
		f.mustPass()
	}
	want(t, "the resource is gone", "conditions", map[string]string{name + " " + name: "[]"}, got)
}
