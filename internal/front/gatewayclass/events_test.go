// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditionEvents(t *testing.T) {
	of := func(kind, status, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: status + " because of " + reason}
	}
	cases := map[string]struct {
		reason        string
		before, after []metav1.Condition
		want          []string
	}{
		"Installed":  {reason: "istiod has come to serve", before: []metav1.Condition{of("ControllerInstalled", "Unknown", "Pending")}, after: []metav1.Condition{of("ControllerInstalled", "True", "Installed")}, want: []string{"Normal ControlPlaneInstalled True because of Installed"}},
		"Failed":     {reason: "a failure is a warning", after: []metav1.Condition{of("ControllerInstalled", "False", "InstallFailed")}, want: []string{"Warning ControlPlaneFailed False because of InstallFailed"}},
		"Pending":    {reason: "what has not been decided is no event", after: []metav1.Condition{of("ControllerInstalled", "Unknown", "Pending"), of("CRDsReady", "Unknown", "NoneExist")}},
		"SameReason": {reason: "another message is no event", before: []metav1.Condition{{Type: "CRDsReady", Status: "True", Reason: "ManagedByOLM"}}, after: []metav1.Condition{of("CRDsReady", "True", "ManagedByOLM")}},
		"OtherOwner": {reason: "another manager of the CRDs is one, though the status is the same", before: []metav1.Condition{of("CRDsReady", "True", "ManagedByOLM")}, after: []metav1.Condition{of("CRDsReady", "True", "ManagedByCIO")}, want: []string{"Normal CRDsManaged True because of ManagedByCIO"}},
		"Mixed":      {reason: "CRDs without a manager are a warning", before: []metav1.Condition{of("CRDsReady", "True", "ManagedByCIO")}, after: []metav1.Condition{of("CRDsReady", "False", "MixedOwnership")}, want: []string{"Warning CRDsNotManaged False because of MixedOwnership"}},
		"FirstCRDs":  {reason: "CRDs that are being installed have not failed", before: []metav1.Condition{of("CRDsReady", "Unknown", "NoneExist")}, after: []metav1.Condition{of("CRDsReady", "False", "NotReady")}},
		"CRDDeleted": {reason: "one that is gone is a warning", before: []metav1.Condition{of("CRDsReady", "True", "ManagedByCIO")}, after: []metav1.Condition{of("CRDsReady", "False", "NotReady")}, want: []string{"Warning CRDsNotManaged False because of NotReady"}},
		"Foreign":    {reason: "conditions of other controllers are theirs to tell", after: []metav1.Condition{of("Accepted", "True", "Accepted")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range conditionEvents(tc.before, tc.after) {
				got = append(got, e.Type+" "+e.Reason+" "+e.Note)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
