// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/probes/celprobe"
)

// compiled are a revision's own probes.
type compiled []selected

type selected struct {
	selector v1alpha1.ProbeSelector
	labels   labels.Selector
	probe    probes.Probe
	within   time.Duration
	holdsFor time.Duration
}

// compileProbes makes probes of what stands in a revision. The error begins with the
// field that it is about, and says where in it.
func compileProbes(specs []v1alpha1.Probe) (compiled, error) {
	var all compiled
	for i, spec := range specs {
		refuse := func(field string, err error) error {
			return fmt.Errorf("spec.probes[%d].%s (probe %s): %w", i, field, spec.Name, err)
		}
		next := selected{selector: spec.Selector, labels: labels.Everything(), within: ptr.Deref(spec.Within, metav1.Duration{}).Duration, holdsFor: ptr.Deref(spec.HoldsFor, metav1.Duration{}).Duration}
		var own probes.All
		for j, assertion := range spec.Assertions {
			probe, field, err := compileAssertion(assertion, spec.Selector)
			if err != nil {
				return nil, refuse(fmt.Sprintf("assertions[%d]%s", j, field), err)
			}
			own = append(own, probe)
		}
		if spec.Selector.Labels != nil {
			var err error
			if next.labels, err = metav1.LabelSelectorAsSelector(spec.Selector.Labels); err != nil {
				return nil, refuse("selector.labels", err)
			}
		}
		if len(own) == 0 {
			return nil, refuse("assertions", errors.New("there is none, and a probe without assertions would always be true"))
		}
		next.probe = probes.ObservedGeneration{Inner: own}
		all = append(all, next)
	}
	return all, nil
}

// selecting are the probes that are for an object.
func (c compiled) selecting(manifest *unstructured.Unstructured) compiled {
	kind, own := manifest.GroupVersionKind().GroupKind(), labels.Set(manifest.GetLabels())
	var chosen compiled
	for _, s := range c {
		if (s.selector.Kind == "" || s.kind() == kind) && s.isNamed(manifest) && s.labels.Matches(own) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// isNamed says whether a manifest has the name and namespace that are selected.
func (s selected) isNamed(manifest *unstructured.Unstructured) bool {
	return (s.selector.Name == "" || s.selector.Name == manifest.GetName()) && (s.selector.Namespace == "" || s.selector.Namespace == manifest.GetNamespace())
}

func (s selected) kind() schema.GroupKind {
	return schema.GroupKind{Group: s.selector.Group, Kind: s.selector.Kind}
}

// together is what several probes of one object ask: all of them have to hold, for the
// longest time, and the shortest is what they may take.
func (c compiled) together() (all probes.All, within, holdsFor time.Duration) {
	for _, s := range c {
		all = append(all, s.probe)
		holdsFor = max(holdsFor, s.holdsFor)
		if within == 0 || s.within > 0 && s.within < within {
			within = s.within
		}
	}
	return all, within, holdsFor
}

// compileAssertion makes a probe of an assertion. With an error comes the field in the
// assertion that it is about, beginning with a dot.
func compileAssertion(a v1alpha1.Assertion, selector v1alpha1.ProbeSelector) (probe probes.Probe, field string, err error) {
	if a.AnyOf == nil {
		return compileAlternative(a.Alternative, selector)
	}
	var anyOf probes.Any
	for k, alternative := range a.AnyOf {
		probe, field, err := compileAlternative(alternative, selector)
		if err != nil {
			return nil, fmt.Sprintf(".anyOf[%d]%s", k, field), err
		}
		anyOf = append(anyOf, probe)
	}
	return anyOf, "", nil
}

func compileAlternative(a v1alpha1.Alternative, selector v1alpha1.ProbeSelector) (probes.Probe, string, error) {
	if a.Not == nil {
		return compileCheck(a.Check, selector)
	}
	inner, field, err := compileCheck(*a.Not, selector)
	if err != nil {
		return nil, ".not" + field, err
	}
	return probes.Not{Inner: inner}, "", nil
}

// errNothing is about an assertion that the API server would not have taken.
var errNothing = errors.New("set one of " + v1alpha1.AssertionKinds)

func compileCheck(c v1alpha1.Check, selector v1alpha1.ProbeSelector) (probes.Probe, string, error) {
	switch {
	case c.Condition != nil:
		return probes.Condition{
			Type:   c.Condition.Type,
			Status: probes.Status(cmp.Or(c.Condition.Status, metav1.ConditionTrue)),
		}, "", nil
	case c.FieldValue != nil:
		return compileFieldValue(*c.FieldValue)
	case c.FieldsEqual != nil:
		a, err := probes.ParsePath(c.FieldsEqual.A)
		if err != nil {
			return nil, ".fieldsEqual.a", err
		}
		b, err := probes.ParsePath(c.FieldsEqual.B)
		if err != nil {
			return nil, ".fieldsEqual.b", err
		}
		return probes.FieldsEqual{A: a, B: b}, "", nil
	case c.ObservedGeneration != nil:
		return probes.ObservedGeneration{Inner: probes.All{}, Required: true}, "", nil
	case c.Default != nil:
		return compileDefault(selector)
	case c.CEL != nil:
		probe, err := celprobe.Compile(c.CEL.Expression, c.CEL.Message)
		if err != nil {
			return nil, ".cel.expression", err
		}
		return probe, "", nil
	default:
		return nil, "", errNothing
	}
}

func compileFieldValue(spec v1alpha1.FieldValueAssertion) (probes.Probe, string, error) {
	path, err := probes.ParsePath(spec.Path)
	if err != nil {
		return nil, ".fieldValue.path", err
	}
	probe := probes.FieldValue{Path: path, Operator: probes.Operator(spec.Operator)}
	if probe.Value, err = spec.Value.Value(); err != nil {
		return nil, ".fieldValue.value", err
	}
	if spec.Type == v1alpha1.ValueQuantity {
		if probe.Value, err = quantity(probe.Value); err != nil {
			return nil, ".fieldValue.value", err
		}
	}
	if err := probe.Validate(); err != nil {
		return nil, ".fieldValue", err
	}
	return probe, "", nil
}

// quantity reads a value of a revision as an amount.
func quantity(value any) (resource.Quantity, error) {
	if _, isBool := value.(bool); isBool {
		return resource.Quantity{}, errors.New("true and false are not quantities: use an amount such as 1Gi")
	}
	q, err := probes.ParseQuantity(fmt.Sprint(value))
	if err != nil {
		return q, fmt.Errorf("it is not a quantity such as 500m or 1Gi: %w", err)
	}
	return q, nil
}

// compileDefault is the default of the kind that is selected, or of the object's where
// labels alone select.
func compileDefault(selector v1alpha1.ProbeSelector) (probes.Probe, string, error) {
	if selector.Kind == "" {
		return probes.Func(defaultOf), "", nil
	}
	kind := schema.GroupKind{Group: selector.Group, Kind: selector.Kind}
	probe, ok := probes.Default(kind)
	if !ok {
		return nil, ".default", fmt.Errorf("%s has no default: no general rule says when such an object is ready", kind)
	}
	return probe, "", nil
}

func defaultOf(obj *unstructured.Unstructured) probes.Result {
	if obj == nil {
		return probes.Result{Status: probes.Unknown, Message: "there is no object"}
	}
	kind := obj.GroupVersionKind().GroupKind()
	probe, ok := probes.Default(kind)
	if !ok {
		return probes.NewResult(probes.Unknown, "there is no default for "+kind.String()+", and an assertion asks for it")
	}
	return probe.Probe(obj)
}
