// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Not turns the answer of a probe round: True becomes False and False becomes True.
// Unknown stays Unknown, with its message.
//
// What is missing does not pass: a field or condition that is not there makes
// FieldValue, FieldsEqual and Condition Unknown, and Not leaves it so. A Select
// belongs around a Not, not inside it, where every object that is not selected
// would fail.
type Not struct {
	// Inner is the probe that must not hold. It is required.
	Inner Probe
}

// Probe asks the inner probe.
func (n Not) Probe(obj *unstructured.Unstructured) Result {
	r := run(n.Inner, obj)
	switch r.Status {
	case True:
		return NewResult(False, "this is true and must not be: "+claimOf(n.Inner, obj))
	case False:
		return Result{Status: True}
	case Unknown:
	}
	return NewResult(Unknown, r.Message)
}

// claimer is a probe that can say what is so when it is True.
type claimer interface {
	claim() string
}

// claimOf says what p being True means, without the value that it expects when obj
// is a Secret.
func claimOf(p Probe, obj *unstructured.Unstructured) string {
	switch p := p.(type) {
	case ObservedGeneration:
		return claimOf(p.Inner, obj)
	case Select:
		return claimOf(p.Inner, obj)
	case claimer:
		if !ContainsSecrets(obj) {
			return p.claim()
		}
	}
	return "the negated probe"
}
