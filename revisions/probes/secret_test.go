// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Every value of these objects that must not get out has the word in it, or the
// number.
const (
	secretWord   = "hunter2"
	secretNumber = "4711"
)

const secretFields = `
metadata:
  name: credentials
  generation: 3
  labels: {pin: hunter2}
  annotations: {last-applied: '{"data":{"password":"hunter2"}}'}
type: Opaque
data: {password: hunter2, other: hunter2-too, pin: 4711, flag: true}
list: [{name: one, password: hunter2}]
spec: {replicas: 4711, type: hunter2, paused: true}
webhooks: [{name: hunter2, clientConfig: {caBundle: hunter2}}]
status:
  phase: hunter2
  reason: hunter2
  message: hunter2
  observedGeneration: 4711
  replicas: 4711
  conditions:
  - {type: Ready, status: hunter2, reason: hunter2, message: hunter2}
  - {type: Available, status: "False", reason: hunter2, message: hunter2}
  - {type: Progressing, status: "False", reason: hunter2, message: hunter2}
  - {type: Old, status: "True", observedGeneration: 4711}
`

// secretProbes asks for what must not be reported, in every way there is.
func secretProbes(t *testing.T) map[string]Probe {
	value := func(text string, want any) Probe { return FieldValue{Path: path(t, text), Value: want} }
	equal := FieldsEqual{A: path(t, ".data.password"), B: path(t, ".data.other")}
	list := map[string]Probe{
		"ValueDiffers":      value(".data.password", "x"),
		"ValueOfOtherType":  value(".data.password", 3),
		"NumberDiffers":     value(".data.pin", 3),
		"QuantityDiffers":   value(".data.pin", resource.MustParse("3")),
		"AtLeast":           FieldValue{Path: path(t, ".data.pin"), Value: 5000, Operator: AtLeast},
		"AtMostQuantity":    FieldValue{Path: path(t, ".data.pin"), Value: resource.MustParse("3"), Operator: AtMost},
		"ExpectedAtLeast":   FieldValue{Path: path(t, ".data.other"), Value: 4711, Operator: AtLeast},
		"ExpectedAbsent":    FieldValue{Path: path(t, ".data.missing"), Value: 4711, Operator: AtMost},
		"NotAtMost":         Not{Inner: FieldValue{Path: path(t, ".data.pin"), Value: 4711, Operator: AtMost}},
		"ObservedRequired":  ObservedGeneration{Inner: All{}, Required: true},
		"FieldMissing":      FieldsEqual{A: path(t, ".data.password"), B: path(t, ".data.missing")},
		"InList":            value(".list[name=one].password", "x"),
		"ExpectedIsSecret":  value(".data.flag", secretWord),
		"ExpectedIsMissing": value(".data.missing", secretWord),
		"InAnnotations":     value(`.metadata.annotations["last-applied"]`, "x"),
		"FieldsDiffer":      equal,
		"Ready":             Condition{Type: "Ready"},
		"Reason":            Condition{Type: "Available", Status: False, Reason: "x"},
		"OldCondition":      Condition{Type: "Old"},
		"Observed":          ObservedGeneration{Inner: Condition{Type: "Ready"}},
		"NotValue":          Not{Inner: value(".data.password", secretWord)},
		"NotNested":         Not{Inner: Select{Inner: value(".data.password", secretWord)}},
		"All":               All{equal, Condition{Type: "Ready"}, value(".data.password", "x")},
		"Any":               Any{equal, Condition{Type: "Ready"}, Not{Inner: value(".data.password", secretWord)}},
	}
	for _, kind := range defaultKinds() {
		list["Default"+kind.Kind], _ = Default(kind)
		list["Serving"+kind.Kind], _ = Serving(kind)
	}
	return list
}

func TestProbes_TellNoSecret(t *testing.T) {
	objects := map[string]*unstructured.Unstructured{
		"Secret":    object(t, "apiVersion: v1\nkind: Secret"+secretFields),
		"OtherKind": object(t, "apiVersion: example.org/v1\nkind: Secret"+secretFields),
		"NoKind":    object(t, "apiVersion: v1\nkind: Secret"+secretFields),
	}
	delete(objects["NoKind"].Object, "kind")
	delete(objects["NoKind"].Object, "apiVersion")
	for name, obj := range objects {
		for probeName, p := range secretProbes(t) {
			t.Run(name+"/"+probeName, func(t *testing.T) {
				got := p.Probe(obj)
				if got.Status == True || got.Message == "" {
					t.Errorf("Probe() = %v; the case does not test what it should, no message is needed", got)
				}
				if strings.Contains(got.Message, secretWord) || strings.Contains(got.Message, secretNumber) {
					t.Errorf("Probe() tells a secret: %q", got.Message)
				}
			})
		}
	}
}

func TestProbes_WhatIsSaidOfASecret(t *testing.T) {
	obj := object(t, "apiVersion: v1\nkind: Secret"+secretFields)
	want := map[string]string{
		"ValueDiffers":      ".data.password differs",
		"ExpectedIsMissing": ".data.missing is missing",
		"FieldsDiffer":      ".data.password differs from .data.other",
		"Ready":             `condition "Ready" differs`,
		"OldCondition":      `condition "Old" is missing or not up to date`,
		"Observed":          "not observed yet",
		"NotValue":          "this is true and must not be: the negated probe",
	}
	list := secretProbes(t)
	for name, message := range want {
		if diff := cmp.Diff(message, list[name].Probe(obj).Message); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// The same probes on a ConfigMap do tell, so that the test above would notice it if
// nothing was ever reported.
func TestProbes_TellOfAConfigMap(t *testing.T) {
	obj := object(t, "apiVersion: v1\nkind: ConfigMap"+secretFields)
	list := secretProbes(t)
	for _, name := range []string{"ValueDiffers", "FieldsDiffer", "Ready", "Reason", "NotValue", "NotNested", "All", "Any"} {
		if got := list[name].Probe(obj); !strings.Contains(got.Message, secretWord) && !strings.Contains(got.Message, secretNumber) {
			t.Errorf("%s: Probe() = %v, want a message with the value found", name, got)
		}
	}
}
