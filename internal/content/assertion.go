// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/probes"
)

// Assertion makes a probe of an assertion about objects of a kind, as it is made of
// those that stand in a revision. The error says which field it is about.
func Assertion(assertion v1alpha1.Assertion, kind schema.GroupKind) (probes.Probe, error) {
	probe, field, err := compileAssertion(assertion, v1alpha1.ProbeSelector{Group: kind.Group, Kind: kind.Kind})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return probes.ObservedGeneration{Inner: probe}, nil
}

// Selects says whether a selector of a revision's probes takes an object.
func Selects(selector v1alpha1.ProbeSelector, manifest *unstructured.Unstructured) (bool, error) {
	one := selected{selector: selector, labels: labels.Everything()}
	if selector.Labels != nil {
		var err error
		if one.labels, err = metav1.LabelSelectorAsSelector(selector.Labels); err != nil {
			return false, fmt.Errorf("selector.labels: %w", err)
		}
	}
	return len(compiled{one}.selecting(manifest)) > 0, nil
}
