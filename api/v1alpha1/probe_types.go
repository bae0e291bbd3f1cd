// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Probe says when the objects that it selects are ready. An object that several
// probes select has to satisfy all of them.
type Probe struct {
	// Name is shown in status and events.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Selector says which objects it is for.
	// +required
	Selector ProbeSelector `json:"selector"`

	// Assertions must all hold.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel), has(self.not), has(self.anyOf)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default, cel, not and anyOf must be set"
	Assertions []Assertion `json:"assertions"`

	// Within is how long an object may be without the probe, counted from when it was
	// seen not to hold first, or from the last change of the object by the revision.
	// After that Progressing turns to False/ProgressDeadlineExceeded and names the
	// object, without waiting for the Package's progressDeadline; onFailure is heeded,
	// and the rollout can still recover. It counts until the revision has succeeded,
	// and not while that is stopped. Of several probes for an object the shortest time
	// counts. Default: progressDeadline alone counts.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="within must be longer than 0s, such as 2m"
	Within *metav1.Duration `json:"within,omitempty"`

	// HoldsFor is how long the probe must hold without interruption before the object
	// counts as ready. The time starts anew when an assertion stops to hold, and when
	// the revision changes the object. Of several probes for an object the longest
	// time counts, for all of them together. Default 0s: at once.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="holdsFor must not be negative"
	HoldsFor *metav1.Duration `json:"holdsFor,omitempty"`
}

// ProbeSelector selects objects of a revision. Every part that is set must match.
//
// +kubebuilder:validation:XValidation:rule="has(self.kind) || has(self.labels)",message="set kind, labels or both"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || has(self.kind)",message="name takes a kind"
type ProbeSelector struct {
	// Group is the API group of kind. Empty, the default, is the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind is the objects' kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Namespace selects the objects of one namespace. Empty, the default, selects
	// those of all, and those that have none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name selects by the name of the object. It takes a kind. Empty, the default,
	// selects all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Labels select by the labels of the object.
	// +optional
	Labels *metav1.LabelSelector `json:"labels,omitempty"`
}

// Assertion is one thing that must hold. It is True, False or Unknown; an object
// that does not say, as a field or condition is missing, is Unknown, which holds the
// gate like False and stays Unknown under not.
type Assertion struct {
	Alternative `json:",inline"`

	// AnyOf requires one or more of its alternatives to hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel), has(self.not)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default, cel and not must be set"
	AnyOf []Alternative `json:"anyOf,omitempty"`
}

// AssertionOf asserts a check.
func AssertionOf(check Check) Assertion {
	return Assertion{Alternative: Alternative{Check: check}}
}

// AssertionKinds lists the fields of an assertion of which exactly one is set.
const AssertionKinds = "condition, fieldValue, fieldsEqual, observedGeneration, default, cel, not and anyOf"

// Kinds are the fields of the assertion that are set, as manifests spell them, sorted.
func (a Assertion) Kinds() []string {
	fields := map[string]json.RawMessage{}
	data, err := json.Marshal(a)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil // an assertion that was read can be written
	}
	return slices.Sorted(maps.Keys(fields))
}

// Alternative is one of several things of which one must hold.
type Alternative struct {
	Check `json:",inline"`

	// Not requires something to be False. What is missing is Unknown and does not
	// pass; an expression of CEL can ask whether it is.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.condition), has(self.fieldValue), has(self.fieldsEqual), has(self.observedGeneration), has(self.default), has(self.cel)].filter(x, x).size() == 1",message="exactly one of condition, fieldValue, fieldsEqual, observedGeneration, default and cel must be set"
	Not *Check `json:"not,omitempty"`
}

// That exactly one of a check's fields is set is a rule of the fields that hold it: those
// types that inline it have more fields, and the generator merges the rules of inlined types.

// Check is one thing that an object says or does not.
type Check struct {
	// Condition requires a condition of the object's status.
	// +optional
	Condition *ConditionAssertion `json:"condition,omitempty"`

	// FieldValue requires a field to have a value.
	// +optional
	FieldValue *FieldValueAssertion `json:"fieldValue,omitempty"`

	// FieldsEqual requires two fields to be set and equal.
	// +optional
	FieldsEqual *FieldsEqualAssertion `json:"fieldsEqual,omitempty"`

	// ObservedGeneration requires .status.observedGeneration to be set and to be the
	// object's generation: its controller has looked at the present spec.
	// +optional
	ObservedGeneration *ObservedGenerationAssertion `json:"observedGeneration,omitempty"`

	// Default requires what the object is judged by when no probe selects it: that
	// it is ready as its kind understands it. The kind must be one that has a
	// default.
	// +optional
	Default *DefaultAssertion `json:"default,omitempty"`

	// CEL requires an expression to be true.
	// +optional
	CEL *CELAssertion `json:"cel,omitempty"`
}

// ConditionAssertion requires a condition to have a status. A condition that is
// missing, or about an older generation, is Unknown and holds the gate.
type ConditionAssertion struct {
	// Type is the condition's type.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Type string `json:"type"`

	// Status is what it must be. Default True.
	// +optional
	// +kubebuilder:default="True"
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	Status metav1.ConditionStatus `json:"status,omitempty"`
}

// PathPattern is what a path looks like. It lets through a few texts that are none,
// such as those with an escape that does not exist: a revision with such a path is
// refused with the reason InvalidSpec.
const PathPattern = `^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`

// FieldValueAssertion requires a field to have a value. A field that is missing is
// Unknown and holds the gate.
type FieldValueAssertion struct {
	// Path is the path of the field, such as .status.replicas,
	// .metadata.annotations["example.com/note"],
	// .spec.template.spec.containers[name=main].image or .spec.hosts[0].
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	Path string `json:"path"`

	// Value is a string, a number, or true or false. Its type matters: the string "3"
	// is not the number 3, and 3 is 3.0.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value Scalar `json:"value"`

	// Type is Quantity when value and field are amounts such as 500m and 1Gi, so that
	// 1Gi is 1024Mi and 1 is "1". Default: they are compared as they stand.
	// +optional
	Type ValueType `json:"type,omitempty"`

	// Operator is Equal, or for numbers and quantities AtLeast or AtMost. Default
	// Equal.
	// +optional
	Operator ValueOperator `json:"operator,omitempty"`
}

// ValueType says as what a field and a value are compared.
// +kubebuilder:validation:Enum=Quantity
type ValueType string

// ValueQuantity compares amounts.
const ValueQuantity ValueType = "Quantity"

// ValueOperator says how a field has to stand to a value.
// +kubebuilder:validation:Enum=Equal;AtLeast;AtMost
type ValueOperator string

const (
	// ValueEqual fields have the value.
	ValueEqual ValueOperator = "Equal"
	// ValueAtLeast fields have the value or a larger one.
	ValueAtLeast ValueOperator = "AtLeast"
	// ValueAtMost fields have the value or a smaller one.
	ValueAtMost ValueOperator = "AtMost"
)

// ObservedGenerationAssertion has no fields of its own.
type ObservedGenerationAssertion struct{}

// DefaultAssertion has no fields of its own.
type DefaultAssertion struct{}

// FieldsEqualAssertion requires two fields to be set and equal. A field that is
// missing is Unknown and holds the gate.
type FieldsEqualAssertion struct {
	// A is the path of a field, such as .status.replicas.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	A string `json:"a"`

	// B is the path of the other.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(\.?[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])(\.[A-Za-z0-9_-]+|\[(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*=(\x22([^\x22\\]|\\.)*\x22|'[^']*'|[A-Za-z0-9_./:-]+))\])*$`
	B string `json:"b"`
}

// CELAssertion requires an expression to be true.
type CELAssertion struct {
	// Expression sees the object as self and must be of type bool. One that does not
	// compile makes the revision InvalidSpec, with line and column; one that fails, or
	// costs too much, is Unknown.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression"`

	// Message is what to say when it is false.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
