// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/config/crd"
)

// What the API server takes for each field by itself decodes into the Go type: one value that
// does not would take the whole kind out of the manager's sight. The values are those at which
// types differ: empty, at their bounds, beyond them, and forms that look alike.
func TestDefinitions_Decode(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	definitions := definitionsIn(t, crd.Files, "*.yaml")
	definitions = append(definitions, definitionsIn(t, crd.Fronts, "*/*.yaml")...)
	if len(definitions) != len(ownKinds()) {
		t.Fatalf("%d definitions for %d kinds", len(definitions), len(ownKinds()))
	}
	tried, valid := 0, 0
	for _, data := range definitions {
		definition := &apiextensions.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			top := map[string]any{"apiVersion": definition.Spec.Group + "/" + version.Name, "kind": definition.Spec.Names.Kind}
			decodes := func(object any) error {
				whole, _ := object.(map[string]any)
				whole["apiVersion"], whole["kind"] = top["apiVersion"], top["kind"]
				encoded, err := json.Marshal(whole)
				if err != nil {
					return err
				}
				_, _, err = decoder.Decode(encoded, nil, nil)
				return err
			}
			walk(definition.Spec.Names.Kind, version.Schema.OpenAPIV3Schema, decodes, func(path string, schema *apiextensions.JSONSchemaProps, wrapped func(any) error) {
				if schema.Format == "date-time" && strings.Contains(path, ".status.") {
					return // the type of others' conditions; the manager alone writes statuses
				}
				check := validator(t, path, schema)
				before := valid
				defer func() {
					if valid == before && schema.Type == "integer" {
						t.Errorf("%s %s takes no number", version.Name, path)
					}
				}()
				for _, value := range candidates(schema) {
					tried++
					if !check(value) {
						continue
					}
					valid++
					if err := wrapped(value); err != nil {
						t.Errorf("%s %s takes %#v, which does not decode: %v", version.Name, path, value, err)
					}
				}
			})
		}
	}
	if tried < 10_000 || valid < 1000 {
		t.Errorf("%d values were tried, and %d of them are valid: the definitions were not walked through", tried, valid)
	}
}

// walk visits each field of a schema. Decodes decodes an object with nothing but that field.
func walk(path string, schema *apiextensions.JSONSchemaProps, decodes func(any) error, visit func(string, *apiextensions.JSONSchemaProps, func(any) error)) {
	for name, property := range schema.Properties {
		if path == strings.Split(path, ".")[0] && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		inside := func(value any) error { return decodes(map[string]any{name: value}) }
		visit(path+"."+name, &property, inside)
		walk(path+"."+name, &property, inside, visit)
	}
	if additional := schema.AdditionalProperties; additional != nil && additional.Schema != nil {
		inside := func(value any) error { return decodes(map[string]any{"key": value}) }
		visit(path+"{}", additional.Schema, inside)
		walk(path+"{}", additional.Schema, inside, visit)
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		inside := func(value any) error { return decodes([]any{value}) }
		visit(path+"[]", items.Schema, inside)
		walk(path+"[]", items.Schema, inside, visit)
	}
}

// validator says whether the API server takes a value for a field, by its schema and its rules.
func validator(t *testing.T, path string, schema *apiextensions.JSONSchemaProps) func(any) bool {
	t.Helper()
	of := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"field": *schema}}
	internal := &apiextensionsinternal.JSONSchemaProps{}
	if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(of, internal, nil); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	bySchema, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	return func(value any) bool {
		object := map[string]any{"field": value}
		if errs := validation.ValidateCustomResource(nil, object, bySchema); len(errs) > 0 {
			return false
		}
		errs, _ := rules.Validate(t.Context(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
		return len(errs) == 0
	}
}

// candidates are values for a field.
func candidates(schema *apiextensions.JSONSchemaProps) []any {
	values := []any{nil, true, map[string]any{}, []any{}, []any{nil}, []any{"x"}, []any{int64(-1)}, map[string]any{"a": nil}, map[string]any{"a": "x"}}
	for _, number := range []int64{0, 1, -1, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MinInt64} {
		values = append(values, number)
	}
	for _, bound := range []*float64{schema.Minimum, schema.Maximum} {
		if bound != nil {
			values = append(values, int64(*bound))
		}
	}
	for _, number := range []float64{0.5, 1e10, 1e19, 1e20, 1e21, -1e19, 1e300} {
		values = append(values, number)
	}
	for _, text := range []string{
		"", "x", "forever", "0", "1", "-1", "0.5", "1e3", "1e19", "1e1000", "1e99999999999999999999", "1Ki", "1KiB", "-1m", ".5", "5.", "99999999999999999999Ei",
		"0s", "1s", "-1s", "+1.5h", ".5s", "1.s", "1h1m", "1d", "1 s", "999999999999999h", "9999999999999999h", "2562048h", "1µs", "1μs", strings.Repeat("9", 60) + "s",
		"2026-01-01T00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00+0100", "2026-01-01 00:00:00", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "2026-01-01", "2016-12-31T23:59:60Z",
		"YQ==", "YQ", "YQ=", "Y\nQ==", "_-==", "!!!!", "50%", "101%", "1.1.1.1", "::1", "a/b", strings.Repeat("x", 300), "\u0000",
	} {
		values = append(values, text)
	}
	for _, item := range schema.Enum {
		var value any
		if json.Unmarshal(item.Raw, &value) == nil {
			values = append(values, value)
		}
	}
	return values
}

// definitionsIn are the files of a folder that match a pattern.
func definitionsIn(t *testing.T, folder fs.FS, pattern string) [][]byte {
	t.Helper()
	names, err := fs.Glob(folder, pattern)
	if err != nil {
		t.Fatal(err)
	}
	files := make([][]byte, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}
