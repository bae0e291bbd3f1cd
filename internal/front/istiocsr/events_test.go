// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

func TestChangeEvents(t *testing.T) {
	type state struct {
		ready, degraded metav1.ConditionStatus
		message         string
		deleted         bool
	}
	const takeover = "a Deployment from before is taken over: a/b, and its pods stay"
	const yes, no, none = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionStatus("")
	made := func(s state) *operatorv1alpha1.IstioCSR {
		ic := &operatorv1alpha1.IstioCSR{}
		if s.deleted {
			ic.DeletionTimestamp = &metav1.Time{}
			*ic.DeletionTimestamp = metav1.Unix(1, 0)
		}
		if s.ready != none {
			ic.Status.Conditions = append(ic.Status.Conditions, metav1.Condition{Type: operatorv1alpha1.ConditionReady, Status: s.ready, Message: s.message})
		}
		if s.degraded != none {
			ic.Status.Conditions = append(ic.Status.Conditions, metav1.Condition{Type: operatorv1alpha1.ConditionDegraded, Status: s.degraded, Message: s.message})
		}
		return ic
	}
	for name, tc := range map[string]struct {
		reason        string
		before, after state
		want          []string
	}{
		"FirstProgress":   {"it has only begun", state{}, state{no, no, "phase 1/3", false}, nil},
		"Progress":        {"the package tells of the rollout", state{no, no, "phase 1/3", false}, state{no, no, "phase 2/3", false}, nil},
		"BecomesReady":    {"it works", state{no, no, "x", false}, state{yes, no, "answers", false}, []string{"Normal AgentReady answers"}},
		"StaysReady":      {"nothing has happened", state{yes, no, "a", false}, state{yes, no, "b", false}, nil},
		"IsLost":          {"it worked", state{yes, no, "a", false}, state{no, no, "Deployment x", false}, []string{"Warning AgentNotReady Deployment x"}},
		"Degraded":        {"a user has to act", state{yes, no, "a", false}, state{no, yes, "Issuer x", false}, []string{"Warning AgentDegraded Issuer x"}},
		"DegradedElse":    {"a user has to act in another way", state{no, yes, "Issuer x", false}, state{no, yes, "Issuer y", false}, []string{"Warning AgentDegraded Issuer y"}},
		"DegradedAsSoFar": {"reported already", state{no, yes, "Issuer x", false}, state{no, yes, "Issuer x", false}, nil},
		"Another":         {"an older one runs", state{}, state{no, none, "a/default is older", false}, []string{"Warning MultiIstioCSRInstance a/default is older"}},
		"AnotherStill":    {"reported already", state{no, none, "a/default is older", false}, state{no, none, "a/default is older", false}, nil},
		"Deleting":        {"what becomes of the agent", state{yes, no, "a", false}, state{no, no, "keeps running", true}, []string{"Warning RemoveDeployment keeps running"}},
		"StillDeleting":   {"reported already", state{no, no, "keeps running", true}, state{no, no, "keeps running", true}, nil},
		"TakesOver":       {"whether pods are replaced", state{}, state{no, no, "phase 1/3; " + takeover, false}, []string{"Normal AgentTakenOver " + takeover}},
		"TakesOverStill":  {"reported already", state{no, no, "phase 1/3; " + takeover, false}, state{no, no, "phase 2/3; " + takeover, false}, nil},
		"TakesOverElse":   {"the spec has changed, and with it what becomes of the pods", state{no, no, takeover, false}, state{no, no, takeover + ", since", false}, []string{"Normal AgentTakenOver " + takeover + ", since"}},
		"NothingKnown":    {"there is nothing to tell", state{}, state{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range changeEvents(made(tc.before), made(tc.after)) {
				got = append(got, e.Type+" "+e.Reason+" "+e.Note)
				if e.Action == "" {
					t.Error("the event has no action, which the API server refuses")
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A newer spec that is being rolled out is no warning.
func TestIstioCSR_NewerSpec(t *testing.T) {
	of := func(generation int64, status metav1.ConditionStatus) *operatorv1alpha1.IstioCSR {
		ic := &operatorv1alpha1.IstioCSR{}
		ic.Status.Conditions = []metav1.Condition{
			{Type: operatorv1alpha1.ConditionReady, Status: status, ObservedGeneration: generation},
			{Type: operatorv1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, ObservedGeneration: generation},
		}
		return ic
	}
	if got := changeEvents(of(1, metav1.ConditionTrue), of(2, metav1.ConditionFalse)); len(got) > 0 {
		t.Errorf("a user who has changed the spec is warned: %v", got)
	}
	if got := changeEvents(of(2, metav1.ConditionTrue), of(2, metav1.ConditionFalse)); len(got) != 1 {
		t.Errorf("what has stopped working is not reported: %v", got)
	}
}
