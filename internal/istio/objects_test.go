// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Each kind has a place, and a namespace if it is namespaced.
func TestPlace(t *testing.T) {
	for _, kind := range kinds {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind.WithVersion("v1"))
		phase, err := Place(o, "mesh")
		if err != nil || phase != kind.phase || (o.GetNamespace() == "mesh") != kind.namespaced {
			t.Errorf("%s stands in phase %q and namespace %q (%v)", kind.GroupKind, phase, o.GetNamespace(), err)
		}
	}
}
