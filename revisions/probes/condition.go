// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition asks for a condition in .status.conditions.
//
//   - The object has no such condition: Unknown.
//   - The condition carries an observedGeneration that is not the object's
//     metadata.generation: Unknown, it speaks of another generation.
//   - Its status, or its reason where one is asked for, is another: False, with the
//     reason and message that the condition gives.
//
// Of several conditions with the type the first counts.
type Condition struct {
	// Type is the type of the condition, for example "Available". It is required.
	Type string
	// Status is what the condition's status has to be: True, False or Unknown.
	// Empty means True.
	Status Status
	// Reason is what the condition's reason has to be. Empty means any.
	Reason string
}

// Validate returns an error when the probe asks for nothing or for a status that
// no condition has. Such a probe answers Unknown to every object.
func (c Condition) Validate() error {
	if c.Type == "" {
		return errors.New("condition probe: the condition type is missing")
	}
	switch c.Status {
	case "", True, False, Unknown:
		return nil
	}
	return fmt.Errorf("condition probe for %q: the status %q is none of True, False and Unknown", c.Type, c.Status)
}

// Probe compares the condition of obj.
func (c Condition) Probe(obj *unstructured.Unstructured) Result {
	if err := c.Validate(); err != nil {
		return NewResult(Unknown, err.Error())
	}
	content := contentOf(obj)
	result := c.check(listAt(content, "status", "conditions"), countAt(content, "metadata", "generation"))
	if result.Status == True || !ContainsSecrets(obj) {
		return result
	}
	if result.Status == False {
		return NewResult(False, fmt.Sprintf("condition %q differs", c.Type))
	}
	return NewResult(Unknown, fmt.Sprintf("condition %q is missing or not up to date", c.Type))
}

// check does the work of Probe on a list of conditions, wherever it stands.
func (c Condition) check(conditions []any, generation int64) Result {
	found, ok := findCondition(conditions, c.Type)
	if !ok {
		return NewResult(Unknown, fmt.Sprintf("the object has no condition %q yet", c.Type))
	}
	if found.dated && found.observed != generation {
		return NewResult(Unknown, fmt.Sprintf("condition %q is not up to date (generation %d, observed %d)", c.Type, generation, found.observed))
	}
	if found.status != string(c.wanted()) {
		return NewResult(False, fmt.Sprintf("condition %q is %q, expected %q", c.Type, cut(found.status, maxQuoted), c.wanted())+
			because(found.reason, found.message))
	}
	if c.Reason != "" && found.reason != c.Reason {
		return NewResult(False, fmt.Sprintf("condition %q has the reason %q, expected %q", c.Type, cut(found.reason, maxQuoted), c.Reason)+
			because("", found.message))
	}
	return Result{Status: True}
}

// wanted returns the status that the condition has to have.
func (c Condition) wanted() Status {
	if c.Status == "" {
		return True
	}
	return c.Status
}

// condition is what the probes need of one entry of a list of conditions.
type condition struct {
	status   string
	reason   string
	message  string
	dated    bool // observedGeneration is there
	observed int64
}

// findCondition returns the first condition of a type.
func findCondition(conditions []any, conditionType string) (condition, bool) {
	for _, entry := range conditions {
		fields, ok := entry.(map[string]any)
		if !ok || stringAt(fields, "type") != conditionType {
			continue
		}
		_, dated := fieldAt(fields, "observedGeneration")
		observed := countAt(fields, "observedGeneration")
		return condition{
			status:   stringAt(fields, "status"),
			reason:   stringAt(fields, "reason"),
			message:  stringAt(fields, "message"),
			dated:    dated,
			observed: observed,
		}, true
	}
	return condition{}, false
}

// conditionOf returns a condition of an object's status; where there is none, all
// its fields are empty.
func conditionOf(content map[string]any, conditionType string) condition {
	found, _ := findCondition(listAt(content, "status", "conditions"), conditionType)
	return found
}

// conditionTrue asks that a condition of the object's status is True.
func conditionTrue(content map[string]any, conditionType string) Result {
	return Condition{Type: conditionType}.check(listAt(content, "status", "conditions"), countAt(content, "metadata", "generation"))
}

func (c Condition) claim() string {
	return fmt.Sprintf("condition %q is %q", c.Type, c.wanted())
}
