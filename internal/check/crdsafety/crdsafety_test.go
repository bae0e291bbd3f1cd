// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definition is a definition with one version, v1, whose field spec has the schema.
func definition(t testing.TB, spec string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	parsed := apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(spec), &parsed); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.org", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": parsed}},
		}}},
	}}
}

// rules are findings as rule and path, which is what a case is about.
func rules(findings []Finding) string {
	var all []string
	for _, finding := range findings {
		all = append(all, strings.TrimSpace(string(finding.Rule)+" "+finding.Path))
	}
	return strings.Join(all, "; ")
}

func TestCompare_Schema(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string
		// up and down are the findings of the change and of its way back.
		up, down string
	}{
		"FieldRemoved":       {"what was in it is dropped", "{type: object, properties: {a: {type: string}, b: {type: object, properties: {c: {type: string}}}}}", "{type: object, properties: {a: {type: string}}}", "Field .spec.b", ""},
		"DeepField":          {"fields of lists and maps are found", "{type: object, properties: {a: {type: array, items: {type: object, additionalProperties: {type: object, properties: {x.y: {type: string}}}}}}}", "{type: object, properties: {a: {type: array, items: {type: object, additionalProperties: {type: object}}}}}", "Field .spec.a[][*]['x.y']", ""},
		"FieldKept":          {"unknown fields are kept, so nothing is dropped", "{type: object, properties: {a: {type: string}}}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "", "UnknownFields .spec"},
		"FieldInMap":         {"a map keeps the field", "{type: object, properties: {a: {type: string}}}", "{type: object, additionalProperties: {type: string}}", "", "UnknownFields .spec"},
		"MapOfAny":           {"values of any type are narrowed", "{type: object, additionalProperties: true}", "{type: object, additionalProperties: {type: string}}", "Type .spec[*]", ""},
		"OptionalAdded":      {"a new optional field, with a default or not, is safe", "{type: object}", "{type: object, properties: {a: {type: string}, b: {type: integer, default: 3, minimum: 1}}}", "", "Field .spec.a; Field .spec.b"},
		"Required":           {"existing resources do not set it", "{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}}, required: [a]}", "Required .spec.a", ""},
		"RequiredNew":        {"a new field counts, too", "{type: object}", "{type: object, properties: {a: {type: string}}, required: [a]}", "Required .spec.a", "Field .spec.a"},
		"RequiredDefault":    {"the API server sets it when it reads", "{type: object}", "{type: object, properties: {a: {type: string, default: x}}, required: [a]}", "", "Field .spec.a"},
		"RequiredWithin":     {"within a new field nothing exists yet", "{type: object}", "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, required: [b]}}}", "", "Field .spec.a"},
		"RequiredOrder":      {"the order has no meaning", "{type: object, properties: {a: {}, b: {}}, required: [a, b]}", "{type: object, properties: {a: {}, b: {}}, required: [b, a]}", "", ""},
		"Type":               {"and nothing below it is compared", "{type: string, maxLength: 3}", "{type: integer, maximum: 3}", "Type .spec", "Type .spec"},
		"NumberWidened":      {"every integer is a number", "{type: integer, format: int64}", "{type: number}", "", "Type .spec"},
		"IntOrString":        {"which takes both", "{type: string}", "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "", "Type .spec"},
		"IntOrStringSpelled": {"the anyOf says the same again", "{x-kubernetes-int-or-string: true}", "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "", ""},
		"AnyType":            {"whatever it is, it is kept", "{type: string}", "{x-kubernetes-preserve-unknown-fields: true}", "", "Type .spec"},
		"IntegerFormat":      {"an integer without a format has 64 bits", "{type: integer}", "{type: integer, format: int64}", "", ""},
		"IntegerNarrowed":    {"half of the values are refused", "{type: integer, format: int64}", "{type: integer, format: int32}", "Format .spec", ""},
		"StringFormat":       {"a format that is checked", "{type: string}", "{type: string, format: date-time}", "Format .spec", ""},
		"UncheckedFormat":    {"is for readers only", "{type: string}", "{type: string, format: quantity}", "", ""},
		"Octets":             {"binary and byte are one in JSON", "{type: string, format: binary}", "{type: string, format: byte}", "", ""},
		"Nullable":           {"null is refused", "{type: string, nullable: true}", "{type: string}", "Nullable .spec", ""},
		"NullableSpelled":    {"false is the default", "{type: string, nullable: false}", "{type: string}", "", ""},
		"DefaultAdded":       {"and removed", "{type: string}", "{type: string, default: x}", "Default .spec", "Default .spec"},
		"DefaultChanged":     {"resources without it change their meaning", "{type: string, default: x}", "{type: string, default: y}", "Default .spec", "Default .spec"},
		"DefaultSpelled":     {"numbers and key order have several spellings", `{type: object, default: {"a": 1, "b": 2.0}}`, `{type: object, default: {"b": 2, "a": 1.0}}`, "", ""},
		"Enum":               {"fewer values", "{type: string, enum: [a, b]}", "{type: string, enum: [b]}", "Enum .spec", ""},
		"EnumNew":            {"where there was none", "{type: string}", "{type: string, enum: [a]}", "Enum .spec", ""},
		"EnumOrder":          {"the order has no meaning", "{type: number, enum: [1, 2.0]}", "{type: number, enum: [2, 1.0]}", "", ""},
		"Minimum":            {"tighter", "{type: number, minimum: 1}", "{type: number, minimum: 2}", "Bound .spec", ""},
		"MinimumNew":         {"new", "{type: number}", "{type: number, minimum: 2}", "Bound .spec", ""},
		"MinimumExclusive":   {"the value itself is refused", "{type: number, minimum: 2}", "{type: number, minimum: 2, exclusiveMinimum: true}", "Bound .spec", ""},
		"Maximum":            {"tighter", "{type: number, maximum: 2}", "{type: number, maximum: 1.5}", "Bound .spec", ""},
		"MaximumExclusive":   {"a wider one may be exclusive", "{type: number, maximum: 2}", "{type: number, maximum: 3, exclusiveMaximum: true}", "", "Bound .spec"},
		"MultipleOf":         {"new", "{type: integer}", "{type: integer, multipleOf: 2}", "Bound .spec", ""},
		"Lengths":            {"both ends", "{type: string, minLength: 1, maxLength: 9}", "{type: string, minLength: 2, maxLength: 8}", "Bound .spec; Bound .spec", ""},
		"ItemsNew":           {"new", "{type: array, items: {type: string}}", "{type: array, items: {type: string}, minItems: 1, maxItems: 8}", "Bound .spec; Bound .spec", ""},
		"NoBound":            {"zero is no bound", "{type: array, items: {type: string}}", "{type: array, items: {type: string}, minItems: 0}", "", ""},
		"Properties":         {"bounds of a map", "{type: object, additionalProperties: {type: string}}", "{type: object, additionalProperties: {type: string}, maxProperties: 3}", "Bound .spec", ""},
		"Pattern":            {"another one", "{type: string, pattern: a}", "{type: string, pattern: b}", "Pattern .spec", "Pattern .spec"},
		"PatternNew":         {"one where there was none", "{type: string}", "{type: string, pattern: b}", "Pattern .spec", ""},
		"UnknownFields":      {"they are dropped", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object}", "UnknownFields .spec", ""},
		"ListType":           {"a set takes no duplicates", "{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: set}", "List .spec", "List .spec"},
		"ListSpelled":        {"atomic is the default", "{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: atomic}", "", ""},
		"ListKeys":           {"the order of the keys has no meaning", "{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b]}", "{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b, a]}", "", ""},
		"ListKeysChanged":    {"other keys", "{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b]}", "{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}", "List .spec", "List .spec"},
		"Words":              {"descriptions are for readers", "{type: object, description: a, title: b, properties: {x: {type: string, description: c}}}", "{type: object, description: d, properties: {x: {type: string, example: e}}}", "", ""},
		"WordsWithin":        {"also within combinations", "{type: object, anyOf: [{required: [a], description: x}]}", "{type: object, anyOf: [{required: [a]}]}", "", ""},
		"CEL":                {"CEL is not compared", "{type: object}", "{type: object, x-kubernetes-validations: [{rule: 'false'}]}", "", ""},
		"OneOfNew":           {"the fields could be set together", "{type: object, properties: {a: {}, b: {}}}", "{type: object, properties: {a: {}, b: {}}, oneOf: [{required: [a]}, {required: [b]}]}", "Combination .spec", ""},
		"OneOfGrows":         {"a new field as a new alternative refuses nothing that exists", "{type: object, properties: {a: {}, b: {}}, oneOf: [{not: {anyOf: [{required: [a]}, {required: [b]}]}}, {required: [a]}, {required: [b]}]}", "{type: object, properties: {a: {}, b: {}, c: {}}, oneOf: [{not: {anyOf: [{required: [a]}, {required: [b]}, {required: [c]}]}}, {required: [a]}, {required: [b]}, {required: [c]}]}", "", "Field .spec.c"},
		"OneOfDefault":       {"a default sets the new field beside the others", "{type: object, properties: {a: {}}, oneOf: [{required: [a]}]}", "{type: object, properties: {a: {}, c: {type: string, default: x}}, oneOf: [{required: [a]}, {required: [c]}]}", "Combination .spec", "Combination .spec; Field .spec.c"},
		"NotSpelled":         {"two ways to say that neither is set", "{type: object, properties: {a: {}, b: {}}, not: {anyOf: [{required: [a]}, {required: [b]}]}}", "{type: object, properties: {a: {}, b: {}}, allOf: [{not: {required: [a]}}, {not: {required: [b]}}]}", "", ""},
		"NotDropped":         {"what is dropped when it is read is not refused", "{type: object, properties: {a: {}, c: {}}}", "{type: object, properties: {a: {}}, not: {required: [c]}}", "Field .spec.c", ""},
		"AnyOfGrows":         {"one more alternative", "{type: string, anyOf: [{pattern: a}]}", "{type: string, anyOf: [{pattern: a}, {pattern: b}]}", "", "Combination .spec"},
		"AllOfGrows":         {"one more demand", "{type: string, allOf: [{pattern: a}]}", "{type: string, allOf: [{pattern: a}, {pattern: b}]}", "Combination .spec", ""},
		"NotNew":             {"values are excluded", "{type: string}", "{type: string, not: {pattern: b}}", "Combination .spec", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.up, rules(Compare(definition(t, c.before), definition(t, c.after)))); diff != "" {
				t.Errorf("%s: up (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.down, rules(Compare(definition(t, c.after), definition(t, c.before)))); diff != "" {
				t.Errorf("%s: down (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestCompare_Definition(t *testing.T) {
	type crd = apiextensionsv1.CustomResourceDefinition
	const spec = "{type: object, properties: {a: {type: string}}}"
	add := func(name string, served bool, schema string) func(*crd) {
		return func(d *crd) {
			version := definition(t, schema).Spec.Versions[0]
			version.Name, version.Served, version.Storage = name, served, false
			d.Spec.Versions = append(d.Spec.Versions, version)
		}
	}
	store := func(name string) func(*crd) {
		return func(d *crd) {
			for i := range d.Spec.Versions {
				d.Spec.Versions[i].Storage = d.Spec.Versions[i].Name == name
			}
		}
	}
	drop := func(d *crd) { d.Spec.Versions = d.Spec.Versions[1:] }
	cases := map[string]struct {
		reason        string
		before, after []func(*crd)
		want          string
	}{
		"Same":            {reason: "nothing changed"},
		"Scope":           {reason: "no object has a place any more", after: []func(*crd){func(d *crd) { d.Spec.Scope = apiextensionsv1.ClusterScoped }}, want: "Scope"},
		"Names":           {reason: "it is another kind", after: []func(*crd){func(d *crd) { d.Spec.Names.Kind = "Gadget"; d.Spec.Group = "other.org" }}, want: "Names; Names"},
		"ShortNames":      {reason: "they are for people", after: []func(*crd){func(d *crd) { d.Spec.Names.ShortNames = []string{"w"} }}},
		"VersionAdded":    {reason: "older clients go on", after: []func(*crd){add("v2", true, spec)}},
		"StoredGone":      {reason: "etcd holds resources in it", after: []func(*crd){add("v2", true, spec), store("v2"), drop}, want: "StoredVersion"},
		"StoredOnceGone":  {reason: "the status says so, though it is stored no more", before: []func(*crd){add("v2", true, spec), store("v2"), func(d *crd) { d.Status.StoredVersions = []string{"v1", "v2"} }}, after: []func(*crd){add("v2", true, spec), store("v2"), drop}, want: "StoredVersion"},
		"Migrated":        {reason: "nothing is stored in it, yet it was served", before: []func(*crd){add("v2", true, spec), store("v2"), func(d *crd) { d.Status.StoredVersions = []string{"v2"} }}, after: []func(*crd){add("v2", true, spec), store("v2"), drop}, want: "ServedVersion"},
		"UnservedDropped": {reason: "it could not be used", before: []func(*crd){add("v0", false, spec)}},
		"Unserved":        {reason: "clients of it break", after: []func(*crd){func(d *crd) { d.Spec.Versions[0].Served = false }}, want: "ServedVersion"},
		"StoredAs":        {reason: "what is stored anew loses the field", after: []func(*crd){add("v2", true, "{type: object}"), store("v2")}, want: "Field .spec.a"},
		"Converted": {reason: "a webhook may put the field elsewhere", after: []func(*crd){add("v2", true, "{type: object}"), store("v2"), func(d *crd) {
			d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
		}}},
		"NoSchema": {reason: "there is nothing to compare", before: []func(*crd){func(d *crd) { d.Spec.Versions[0].Schema = nil }}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := definition(t, spec), definition(t, spec)
			for _, change := range c.before {
				change(before)
			}
			for _, change := range c.after {
				change(after)
			}
			if diff := cmp.Diff(c.want, rules(Compare(before, after))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCompare_Bounds says when it has not looked at everything.
func TestCompare_Bounds(t *testing.T) {
	deep := func(leaf string) string {
		return strings.Repeat("{type: object, properties: {a: ", MaxDepth+1) + leaf + strings.Repeat("}}", MaxDepth+1)
	}
	if got := rules(Compare(definition(t, deep("{type: string}")), definition(t, deep("{type: integer}")))); got != "Size" {
		t.Errorf("of a schema that is too deep: %q, want Size", got)
	}
	var many strings.Builder
	for i := range MaxFindings + 10 {
		fmt.Fprintf(&many, "f%d: {type: string}, ", i)
	}
	findings := Compare(definition(t, "{type: object, properties: {"+many.String()+"}}"), definition(t, "{type: object}"))
	if len(findings) != MaxFindings {
		t.Errorf("%d findings, want %d", len(findings), MaxFindings)
	}
	for _, finding := range Compare(definition(t, "{type: string}"), definition(t, "{type: string, enum: ["+strings.Repeat("long, ", 4000)+"x]}")) {
		if len(finding.Message) > 300 {
			t.Errorf("a message has %d bytes", len(finding.Message))
		}
	}
}

// FuzzCompare finds no input that a comparison does not survive, or that differs
// from itself, or whose findings depend on anything else.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`), []byte(`{"type":"object","required":["a"]}`))
	f.Add([]byte(`{"oneOf":[{"required":["a"]},{"not":{"required":["b"]}}]}`), []byte(`{"anyOf":[{"pattern":"x"}],"x-kubernetes-int-or-string":true}`))
	f.Add([]byte(`{"default":1e400,"enum":[1,1.0,null]}`), []byte(`{"items":{"type":"array","items":{}},"x-kubernetes-list-type":"set"}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		var a, b apiextensionsv1.JSONSchemaProps
		if yaml.Unmarshal(before, &a) != nil || yaml.Unmarshal(after, &b) != nil {
			return
		}
		was, is, again := definition(t, "{}"), definition(t, "{}"), definition(t, "{}")
		was.Spec.Versions[0].Schema.OpenAPIV3Schema = &a
		is.Spec.Versions[0].Schema.OpenAPIV3Schema = &b
		again.Spec.Versions[0].Schema.OpenAPIV3Schema = a.DeepCopy()
		if found := Compare(was, again); len(found) > 0 && found[0].Rule != RuleSize {
			t.Errorf("a schema differs from itself: %v", found)
		}
		first, second := Compare(was, is), Compare(was, is)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("two comparisons differ:\n%s", diff)
		}
	})
}
