// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

func TestChangeEvents(t *testing.T) {
	at := func(state v1alpha2.State, reason string) *v1alpha2.Istio {
		istio := &v1alpha2.Istio{}
		if state != "" {
			istio.Status = v1alpha2.IstioStatus{State: state, Conditions: &[]metav1.Condition{{Type: v1alpha2.ConditionReady, Reason: reason, Message: reason + " it is"}}}
		}
		return istio
	}
	cases := map[string]struct {
		reason        string
		before, after *v1alpha2.Istio
		want          string
	}{
		"First":     {reason: "it begins", before: at("", ""), after: at(v1alpha2.StateProcessing, "ReconcileUnknown"), want: "Normal MeshProcessing"},
		"Goes":      {reason: "progress is reported by the revision", before: at(v1alpha2.StateProcessing, "ReconcileUnknown"), after: at(v1alpha2.StateProcessing, "Other")},
		"Ready":     {before: at(v1alpha2.StateProcessing, "ReconcileUnknown"), after: at(v1alpha2.StateReady, "ReconcileSucceeded"), want: "Normal MeshReady"},
		"Same":      {reason: "nothing has changed", before: at(v1alpha2.StateError, "ValidationFailed"), after: at(v1alpha2.StateError, "ValidationFailed")},
		"Error":     {before: at(v1alpha2.StateReady, "ReconcileSucceeded"), after: at(v1alpha2.StateError, "ValidationFailed"), want: "Warning MeshError"},
		"NewReason": {reason: "another thing needs a person", before: at(v1alpha2.StateWarning, "ReconcileFailed"), after: at(v1alpha2.StateWarning, "IstioVersionUpdateNotAllowed"), want: "Warning MeshWarning"},
		"Deleting":  {before: at(v1alpha2.StateReady, "ReconcileSucceeded"), after: at(v1alpha2.StateDeleting, "ReconcileUnknown"), want: "Normal MeshDeleting"},
		"Nothing":   {before: at(v1alpha2.StateReady, ""), after: at("", "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, e := range changeEvents(tc.before, tc.after) {
				got += e.Type + " " + e.Reason
				if e.Note == "" || e.Action == "" {
					t.Errorf("%s: the event says nothing: %+v", tc.reason, e)
				}
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
