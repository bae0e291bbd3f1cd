// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strings"
	"testing"
)

func TestCondition(t *testing.T) {
	testProbe(t, Condition{Type: "Ready"}, conditionCases)
}

var conditionCases = map[string]probeCase{
	"True": {
		reason: "The condition is as expected.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: "True"}]}}`,
		want:   Result{Status: True},
	},
	"AmongOthers": {
		reason: "Conditions of other types do not count, malformed ones are passed over.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Other, status: "False"}, text, null, {status: "False"}, {type: Ready, status: "True"}]}}`,
		want:   Result{Status: True},
	},
	"FirstCounts": {
		reason: "Of two conditions of a type the first counts.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: "False"}, {type: Ready, status: "True"}]}}`,
		want:   Result{Status: False, Message: `condition "Ready" is "False", expected "True"`},
	},
	"False": {
		reason: "The condition's own reason and message are passed on, on one line.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: "secret \"ca\"\nnot found"}]}}`,
		want:   Result{Status: False, Message: `condition "Ready" is "False", expected "True": DoesNotExist: secret "ca" not found`},
	},
	"OtherValue": {
		reason: "A condition that is Unknown is not True.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: Unknown, reason: Pending}]}}`,
		want:   Result{Status: False, Message: `condition "Ready" is "Unknown", expected "True": Pending`},
	},
	"NoStatusValue": {
		reason: "A condition without a status is not True.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready}]}}`,
		want:   Result{Status: False, Message: `condition "Ready" is "", expected "True"`},
	},
	"BoolStatus": {
		reason: "A bool is no status.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: true}]}}`,
		want:   Result{Status: False, Message: `condition "Ready" is "", expected "True"`},
	},
	"Absent": {
		reason: "A type that is not there is Unknown.",
		object: `{apiVersion: v1, kind: X, status: {conditions: [{type: Other, status: "True"}]}}`,
		want:   Result{Status: Unknown, Message: `the object has no condition "Ready" yet`},
	},
	"NoConditions": {
		reason: "An object without conditions is Unknown.",
		object: `{apiVersion: v1, kind: X, status: {}}`,
		want:   Result{Status: Unknown, Message: `the object has no condition "Ready" yet`},
	},
	"WrongType": {
		reason: "Conditions that are no list are none.",
		object: `{apiVersion: v1, kind: X, status: {conditions: {type: Ready, status: "True"}}}`,
		want:   Result{Status: Unknown, Message: `the object has no condition "Ready" yet`},
	},
	"ObservedNow": {
		reason: "A condition of the present generation counts.",
		object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 3}]}}`,
		want:   Result{Status: True},
	},
	"ObservedBefore": {
		reason: "A condition of an older generation says nothing, whatever its value.",
		object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}}`,
		want:   Result{Status: Unknown, Message: `condition "Ready" is not up to date (generation 3, observed 2)`},
	},
	"ObservedBeforeFalse": {
		reason: "So a failure of an older generation is not held against the present one.",
		object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {conditions: [{type: Ready, status: "False", observedGeneration: 2}]}}`,
		want:   Result{Status: Unknown, Message: `condition "Ready" is not up to date (generation 3, observed 2)`},
	},
	"ObservedText": {
		reason: "A generation that is no number is none that was observed.",
		object: `{apiVersion: v1, kind: X, metadata: {generation: 3}, status: {conditions: [{type: Ready, status: "True", observedGeneration: "3"}]}}`,
		want:   Result{Status: Unknown, Message: `condition "Ready" is not up to date (generation 3, observed 0)`},
	},
}

func TestCondition_Expectations(t *testing.T) {
	const obj = `{apiVersion: v1, kind: X, status: {conditions: [{type: Stalled, status: "False", reason: Idle, message: all is well}]}}`
	cases := map[string]struct {
		reason string
		probe  Condition
		want   Result
	}{
		"StatusFalse":   {"Another status than True can be asked for.", Condition{Type: "Stalled", Status: False}, Result{Status: True}},
		"ReasonAsAsked": {"So can a reason.", Condition{Type: "Stalled", Status: False, Reason: "Idle"}, Result{Status: True}},
		"OtherReason": {"Another reason is False.", Condition{Type: "Stalled", Status: False, Reason: "Busy"},
			Result{Status: False, Message: `condition "Stalled" has the reason "Idle", expected "Busy": all is well`}},
		"NoType": {"A probe without type is not valid and so Unknown.", Condition{},
			Result{Status: Unknown, Message: "condition probe: the condition type is missing"}},
		"NoStatus": {"Neither is one for a status that does not exist.", Condition{Type: "Stalled", Status: "false"},
			Result{Status: Unknown, Message: `condition probe for "Stalled": the status "false" is none of True, False and Unknown`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testProbe(t, tc.probe, map[string]probeCase{"Probe": {tc.reason, obj, tc.want}})
			if invalid := tc.probe.Validate() != nil; invalid != (tc.want.Status == Unknown) {
				t.Errorf("Validate() = %v does not agree with Probe()", tc.probe.Validate())
			}
		})
	}
}

func TestCondition_MessageIsBounded(t *testing.T) {
	obj := object(t, `{apiVersion: v1, kind: X, status: {conditions: [{type: Ready, status: "False", reason: R}]}}`)
	conditions := listAt(obj.Object, "status", "conditions")
	conditions[0].(map[string]any)["message"] = strings.Repeat("ä", 5000)
	got := Condition{Type: "Ready"}.Probe(obj)
	if len(got.Message) > 400 || !strings.HasSuffix(got.Message, "ä...") {
		t.Errorf("Probe() has a message of %d bytes that ends in %q", len(got.Message), got.Message[len(got.Message)-10:])
	}
}
