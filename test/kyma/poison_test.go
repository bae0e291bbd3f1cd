// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/test/setup"
)

// Resources that the Go type cannot hold, stored under a laxer definition. The manager starts
// beside them and sees what becomes of others; the status of the one that it looks at says what is wrong.
func poison(t *testing.T) {
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: tenant}}")
	loosen(t)
	const spec = "{config: {authorizers: [{name: a, service: a.b, port: 80}, {name: b, service: a.b, port: 80, timeout: forever}]}}"
	manifest(t, istio("poison", spec))
	manifest(t, strings.Replace(istio("poison", spec), "kyma-system", "tenant", 1))
	if err := setup.Apply(t.Context(), admin, setup.Files{From: crd.Fronts, Pattern: "kyma/*.yaml"}); err != nil {
		t.Fatal(err)
	}
	tells := func(when string) {
		got := untypedIstio(t, "kyma-system")
		text, _, _ := unstructured.NestedString(got.Object, "status", "description")
		if !strings.Contains(text, "spec.config.authorizers[1].timeout") {
			t.Errorf("%s the field is not named: %q", when, text)
		}
	}
	awaitState(t, "poison", v1alpha2.StateError)
	tells("while the manager runs,")
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	manifest(t, istio("younger", "{}"))
	state(t, "younger", v1alpha2.StateError, v1alpha2.ReasonOlderCRExists)
	tells("after a new start,")
	if foreign := untypedIstio(t, "tenant"); len(foreign.GetFinalizers()) > 0 || foreign.Object["status"] != nil {
		t.Errorf("a resource of a tenant was touched: %v, %v", foreign.GetFinalizers(), foreign.Object["status"])
	}
	remove(t, untypedIstio(t, "kyma-system"))
	state(t, "younger", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	remove(t, named("younger"))
}

// loosen takes the rules for authorizers off the definition that is served.
func loosen(t *testing.T) {
	t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "istios.operator.kyma-project.io"}, definition); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		path := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "config", "properties", "authorizers", "items", "properties", "timeout"}
		object, _ := version.(map[string]any)
		if err := unstructured.SetNestedMap(object, map[string]any{"type": "string"}, path...); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := admin.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
}

func untypedIstio(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	o := untyped(v1alpha2.GroupVersion.String(), "Istio", namespace, "poison")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// awaitState waits for the state of a resource that does not decode.
func awaitState(t *testing.T, name string, want v1alpha2.State) {
	t.Helper()
	eventually(t, name+" to be "+string(want), func() (bool, error) {
		o := untyped(v1alpha2.GroupVersion.String(), "Istio", v1alpha2.Namespace, name)
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		got, _, _ := unstructured.NestedString(o.Object, "status", "state")
		return got == string(want), err
	})
}
