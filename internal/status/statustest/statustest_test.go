// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// The contract knows every condition and reason of the API, and no other.
func TestContract_IsThatOfTheAPI(t *testing.T) {
	DeclaredIn(t, contract, "../../../api/v1alpha1/conditions.go")
}

func TestProblems(t *testing.T) {
	good := func() metav1.Condition {
		return metav1.Condition{
			Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRollingOut,
			Message: "phase 1/2", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
		}
	}
	tests := map[string]struct {
		reason   string
		change   func(c *metav1.Condition)
		twice    bool
		required string
		want     string
	}{
		"Good":           {reason: "nothing is wrong", change: func(*metav1.Condition) {}},
		"UnknownType":    {reason: "a type must be in the API", change: func(c *metav1.Condition) { c.Type = "Healthy" }, want: "condition Healthy: the type is not known"},
		"UnknownReason":  {reason: "a reason must be in the API", change: func(c *metav1.Condition) { c.Reason = "Busy" }, want: `condition Progressing: the reason "Busy" is not one of its own`},
		"ForeignReason":  {reason: "a reason belongs to a type", change: func(c *metav1.Condition) { c.Reason = v1alpha1.ReasonReady }, want: `condition Progressing: the reason "Ready" is not one of its own`},
		"WrongStatus":    {reason: "a reason comes with one status", change: func(c *metav1.Condition) { c.Status = metav1.ConditionFalse }, want: "condition Progressing: the reason RollingOut comes with True, and not with False"},
		"NoMessage":      {reason: "a condition has a message", change: func(c *metav1.Condition) { c.Message = "" }, want: "condition Progressing: the message has 0 bytes, and must be text of 1 to 16384"},
		"LongMessage":    {reason: "messages are bounded", change: func(c *metav1.Condition) { c.Message = strings.Repeat("x", 16385) }, want: "condition Progressing: the message has 16385 bytes, and must be text of 1 to 16384"},
		"BrokenMessage":  {reason: "messages are text", change: func(c *metav1.Condition) { c.Message = "\xc3" }, want: "condition Progressing: the message has 1 bytes, and must be text of 1 to 16384"},
		"OldGeneration":  {reason: "a condition is about the present generation", change: func(c *metav1.Condition) { c.ObservedGeneration = 2 }, want: "condition Progressing: it is about generation 2, and not about 3"},
		"NoGeneration":   {reason: "a condition is about a generation", change: func(c *metav1.Condition) { c.ObservedGeneration = 0 }, want: "condition Progressing: it is about generation 0, and not about 3"},
		"NoTime":         {reason: "a condition tells since when", change: func(c *metav1.Condition) { c.LastTransitionTime = metav1.Time{} }, want: "condition Progressing: it does not tell since when"},
		"Twice":          {reason: "a type is there once", change: func(*metav1.Condition) {}, twice: true, want: "condition Progressing: it is there twice"},
		"Missing":        {reason: "what is required must be there", change: func(*metav1.Condition) {}, required: v1alpha1.ConditionReady, want: "condition Ready: it is missing"},
		"LatchedSuccess": {reason: "a latched condition stays about its generation", change: func(c *metav1.Condition) { c.Type, c.Reason, c.ObservedGeneration = "Succeeded", "RolloutSuccess", 1 }},
		"SuccessOfNone":  {reason: "a latched condition is about a generation, too", change: func(c *metav1.Condition) { c.Type, c.Reason, c.ObservedGeneration = "Succeeded", "RolloutSuccess", 0 }, want: "condition Succeeded: it is about generation 0, and not about 3"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := good()
			tc.change(&c)
			conditions := []metav1.Condition{c}
			if tc.twice {
				conditions = append(conditions, c)
			}
			var required, want []string
			if tc.required != "" {
				required = []string{tc.required}
			}
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, Problems(contract, 3, conditions, required...)); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
