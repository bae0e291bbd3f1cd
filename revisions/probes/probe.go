// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Status is what a probe says of an object. It has three values, spelled as the
// status of a Kubernetes condition is.
type Status string

const (
	// True means that the object is as the probe wants it.
	True Status = "True"
	// False means that the object was looked at and is not, or not yet, as the
	// probe wants it.
	False Status = "False"
	// Unknown means that the object does not say: its controller has not looked
	// at it yet, or the probe itself cannot be evaluated. Unknown is never as good
	// as True.
	Unknown Status = "Unknown"
)

// Result is the answer of one probe for one object.
type Result struct {
	// Status is the answer. The zero Result, with an empty Status, is not True.
	Status Status
	// Message says in one line of at most MaxMessage bytes which field decided,
	// what was found and what was expected. It is empty when the Status is True and
	// there is nothing to add. It never holds a value of a Secret.
	Message string
}

// Probe looks at one object and says whether it is ready.
//
// A probe is pure: it reads nothing but its own fields and the object, changes
// neither, keeps nothing, and gives the same answer to the same object. It accepts
// every object, also a nil one, one of another kind and one with values of the
// wrong type, and never panics. So one probe may be used by many goroutines.
type Probe interface {
	// Probe returns the answer for obj.
	Probe(obj *unstructured.Unstructured) Result
}

// Func makes a Probe of a function. The function has to keep the promises of
// Probe.
type Func func(obj *unstructured.Unstructured) Result

// Probe calls f.
func (f Func) Probe(obj *unstructured.Unstructured) Result { return f(obj) }

// NewResult returns a Result with the message made fit to be shown: line breaks
// and control characters become spaces, and what goes beyond MaxMessage bytes is
// cut and marked with "...". Probes of other packages should use it for every
// message that has text of the object in it.
func NewResult(status Status, message string) Result {
	return Result{Status: status, Message: oneLine(message, MaxMessage)}
}

// ContainsSecrets says whether the values of obj must not appear in a message. It is
// so for a Secret (of any API group, and for a list of them) and for an object
// that does not say what kind it is.
func ContainsSecrets(obj *unstructured.Unstructured) bool {
	switch kindOf(obj) {
	case "", "Secret", "SecretList":
		return true
	}
	return false
}

// kindOf returns the kind as the object spells it, "" where there is none.
func kindOf(obj *unstructured.Unstructured) string {
	return stringAt(contentOf(obj), "kind")
}

// run asks p, which a careless caller may have left nil.
func run(p Probe, obj *unstructured.Unstructured) Result {
	if p == nil {
		return Result{Status: Unknown, Message: "no probe is set"}
	}
	return p.Probe(obj)
}
