// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	structuralmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
)

func sliceOf(t *testing.T, text string) v1alpha1.ObjectSlice {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: SliceName([]byte(text))}, Data: out.Bytes()}
}

// stored is a revision as an API server with our CustomResourceDefinition stores
// and returns it: defaulted, pruned, and with the metadata of manifests coerced.
func stored(t *testing.T, revision *v1alpha1.Revision) *v1alpha1.Revision {
	t.Helper()
	data, err := crd.Files.ReadFile("strata.run_revisions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensions.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, definition); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensionsinternal.JSONSchemaProps{}
	if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(revision)
	if err != nil {
		t.Fatal(err)
	}
	structuraldefaulting.Default(object, schema)
	if err := structuralmeta.Coerce(nil, object, schema, true, true); err != nil {
		t.Fatal(err)
	}
	structuralpruning.Prune(object, schema, true)
	back := &v1alpha1.Revision{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// What a front has packed can be loaded after the API server has had its way with
// it: a digest that changes on the way would make every revision unusable.
func TestLoadRevision_AfterTheAPIServer(t *testing.T) {
	manifest := func(metadata map[string]any) *unstructured.Unstructured {
		metadata["name"] = "a"
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"large": strings.Repeat("x", 10), "null": nil, "n": 1.5, "i": int64(7)},
		}}
	}
	condition := v1alpha1.AssertionOf(v1alpha1.Check{Condition: &v1alpha1.ConditionAssertion{Type: "Ready"}})
	tests := map[string]struct {
		reason   string
		manifest *unstructured.Unstructured
		probes   []v1alpha1.Probe
	}{
		"Plain":             {reason: "plain content", manifest: manifest(map[string]any{"namespace": "x", "labels": map[string]any{"a": "b"}})},
		"NullTime":          {reason: "Go programs print a null creationTimestamp", manifest: manifest(map[string]any{"creationTimestamp": nil})},
		"EmptyMaps":         {reason: "templates leave empty maps behind", manifest: manifest(map[string]any{"labels": map[string]any{}, "annotations": map[string]any{}})},
		"NullMaps":          {reason: "templates leave nulls behind", manifest: manifest(map[string]any{"labels": nil, "annotations": nil})},
		"UnknownMetadata":   {reason: "metadata that the API does not know", manifest: manifest(map[string]any{"lables": map[string]any{"a": "b"}})},
		"DefaultedProbe":    {reason: "an assertion's status has a default", manifest: manifest(map[string]any{}), probes: []v1alpha1.Probe{{Name: "p", Selector: v1alpha1.ProbeSelector{Kind: "A"}, Assertions: []v1alpha1.Assertion{condition}}}},
		"EmptyProbes":       {reason: "an empty list comes back as none", manifest: manifest(map[string]any{}), probes: []v1alpha1.Probe{}},
		"ProbeWithSelector": {reason: "selectors come back as they were", manifest: manifest(map[string]any{}), probes: []v1alpha1.Probe{{Name: "p", Selector: v1alpha1.ProbeSelector{Labels: &metav1.LabelSelector{MatchLabels: map[string]string{}}}, Assertions: []v1alpha1.Assertion{condition}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			large := tc.manifest.DeepCopy()
			large.SetName("large")
			large.Object["data"] = map[string]any{"large": strings.Repeat("x", InlineLimit)}
			p, err := Pack([]Phase{{Name: "a", Objects: []Object{{Manifest: tc.manifest}, {Manifest: large}}}}, tc.probes)
			if err != nil {
				t.Fatal(err)
			}
			reader := &fakeSlices{slices: map[string]v1alpha1.ObjectSlice{}}
			for _, slice := range p.Slices {
				reader.slices[slice.Name] = slice
			}
			revision := stored(t, &v1alpha1.Revision{
				ObjectMeta: metav1.ObjectMeta{Name: "a-1"},
				Spec:       v1alpha1.RevisionSpec{Package: "a", Revision: 1, Phases: p.Phases, Probes: tc.probes, ContentDigest: p.Digest},
			})
			if _, err := LoadRevision(t.Context(), reader, revision); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}
