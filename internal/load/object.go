// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/probes"
	"github.com/strata-run/strata/probes/celprobe"
	"github.com/strata-run/strata/revisions"
)

// retained are the kinds whose loss loses data, or everything that lives in them.
var retained = []schema.GroupKind{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
}

// Retains says whether an object stays when it is no longer wanted.
func Retains(manifest *unstructured.Unstructured, deletion v1alpha1.ObjectDeletion) bool {
	switch {
	case deletion != "":
		return deletion == v1alpha1.ObjectRetain
	case manifest.GetAnnotations()[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep:
		return true
	default:
		return slices.Contains(retained, manifest.GroupVersionKind().GroupKind())
	}
}

// compiled are a revision's own probes.
type compiled []selected

type selected struct {
	selector v1alpha1.ProbeSelector
	labels   labels.Selector
	probe    probes.Probe
}

func compileProbes(specs []v1alpha1.Probe) (compiled, error) {
	var all compiled
	for i, spec := range specs {
		var own probes.All
		for j, assertion := range spec.Assertions {
			probe, err := compileAssertion(assertion)
			if err != nil {
				return nil, fmt.Errorf("spec.probes[%d] (%s), assertions[%d]: %w", i, spec.Name, j, err)
			}
			own = append(own, probe)
		}
		selector := labels.Everything()
		if spec.Selector.Labels != nil {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(spec.Selector.Labels); err != nil {
				return nil, fmt.Errorf("spec.probes[%d] (%s), selector.labels: %w", i, spec.Name, err)
			}
		}
		all = append(all, selected{selector: spec.Selector, labels: selector, probe: probes.ObservedGeneration{Inner: own}})
	}
	return all, nil
}

func compileAssertion(assertion v1alpha1.Assertion) (probes.Probe, error) {
	switch {
	case assertion.Condition != nil:
		return probes.Condition{
			Type:   assertion.Condition.Type,
			Status: probes.Status(cmp.Or(assertion.Condition.Status, metav1.ConditionTrue)),
		}, nil
	case assertion.FieldsEqual != nil:
		probe := probes.FieldsEqual{}
		var err error
		if probe.A, err = probes.ParsePath(assertion.FieldsEqual.A); err != nil {
			return nil, fmt.Errorf("fieldsEqual.a: %w", err)
		}
		if probe.B, err = probes.ParsePath(assertion.FieldsEqual.B); err != nil {
			return nil, fmt.Errorf("fieldsEqual.b: %w", err)
		}
		return probe, nil
	case assertion.CEL != nil:
		probe, err := celprobe.Compile(assertion.CEL.Expression, assertion.CEL.Message)
		if err != nil {
			return nil, fmt.Errorf("cel.expression: %w", err)
		}
		return probe, nil
	default:
		return nil, fmt.Errorf("one of condition, fieldsEqual and cel must be set")
	}
}

// object is one manifest with its probes: the revision's own where one selects
// it, the default of its kind elsewhere. The error begins with the field that it is
// about.
func (c compiled) object(stored manifest, spec v1alpha1.Object, phase v1alpha1.Phase) (revisions.Object, error) {
	manifest := stored.manifest
	kind := manifest.GroupVersionKind().GroupKind()
	object := revisions.Object{
		Manifest:            manifest,
		CollisionProtection: revisions.CollisionProtection(cmp.Or(spec.CollisionProtection, phase.CollisionProtection, v1alpha1.CollisionPrevent)),
		Retain:              Retains(manifest, spec.Deletion),
		Replace:             spec.OnImmutableChange == v1alpha1.ImmutableReplace,
	}
	if stored.sealed != nil {
		object.Salt = stored.sealed.Salt
	}
	for k, text := range spec.UnmanagedFields {
		path, err := revisions.ParseFieldPath(text)
		if err != nil {
			return object, fmt.Errorf("unmanagedFields[%d]: %w", k, err)
		}
		object.Unmanaged = append(object.Unmanaged, path)
	}
	var own probes.All
	for _, s := range c {
		kindMatches := s.selector.Kind == "" || s.selector.Kind == kind.Kind && s.selector.Group == kind.Group
		if kindMatches && s.labels.Matches(labels.Set(manifest.GetLabels())) {
			own = append(own, s.probe)
		}
	}
	if len(own) > 0 {
		object.Probe = own
	} else if probe, ok := probes.Default(kind); ok {
		object.Probe = probe
	}
	if probe, ok := probes.Serving(kind); ok {
		object.Serving = probe
	} else {
		object.Serving = object.Probe
	}
	return object, nil
}
