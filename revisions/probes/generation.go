// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ObservedGeneration keeps a probe from believing a status that was written for an
// older spec. While .status.observedGeneration is another than metadata.generation
// the answer is Unknown. An object whose status has no observedGeneration is handed
// to the inner probe as it is, since most kinds never have one; with Required it is
// Unknown.
type ObservedGeneration struct {
	// Inner is asked once the generation is observed. It is required; All{} asks
	// for nothing more.
	Inner Probe
	// Required says that the object must have an observedGeneration.
	Required bool
}

// Probe compares the generations, then asks the inner probe.
func (o ObservedGeneration) Probe(obj *unstructured.Unstructured) Result {
	content := contentOf(obj)
	if _, ok := fieldAt(content, "status", "observedGeneration"); ok || o.Required {
		result := observed(content)
		if result.Status != True && ContainsSecrets(obj) {
			result.Message = "not observed yet"
		}
		if result.Status != True {
			return result
		}
	}
	return run(o.Inner, obj)
}

// observed answers True when the controller has seen the present generation. It is
// for kinds whose controller always says so: a missing observedGeneration is
// Unknown.
func observed(content map[string]any) Result {
	generation := countAt(content, "metadata", "generation")
	value, ok := fieldAt(content, "status", "observedGeneration")
	if !ok {
		return NewResult(Unknown, fmt.Sprintf("not observed yet (generation %d, observed none)", generation))
	}
	seen, ok := numberOf(value)
	if !ok || !seen.whole {
		return NewResult(Unknown, ".status.observedGeneration is not a whole number")
	}
	if seen.int != generation {
		return NewResult(Unknown, fmt.Sprintf("not observed yet (generation %d, observed %d)", generation, seen.int))
	}
	return Result{Status: True}
}
