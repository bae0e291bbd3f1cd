// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/strata-run/strata/internal/istio"
)

// TestRender_Typed decodes every object into the type of its API, strictly: a
// field of the wrong type, or one that the API does not have, would be refused or
// dropped by the API server, and look like drift for ever.
func TestRender_Typed(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range istio.Minors() {
		each(mustRender(t, input(version)), func(o *unstructured.Unstructured) {
			typed, err := scheme.New(o.GroupVersionKind())
			if err != nil {
				t.Errorf("%s: %s %s: %v", version, o.GetKind(), o.GetName(), err)
				return
			}
			strict, err := kjson.UnmarshalStrict(canonical(t, o), typed)
			if err != nil || len(strict) > 0 {
				t.Errorf("%s: %s %s: %v %v", version, o.GetKind(), o.GetName(), err, strict)
			}
		})
	}
}
