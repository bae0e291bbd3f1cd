// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name    string   `json:"name"`
			Columns []column `json:"additionalPrinterColumns"`
			Schema  struct {
				Root schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

type column struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	JSONPath    string `json:"jsonPath"`
	Priority    int    `json:"priority"`
}

// schema is what is read of a field's schema.
type schema struct {
	Description          string            `json:"description"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	Default              any               `json:"default"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	MaxLength            *int64            `json:"maxLength"`
	MaxItems             *int64            `json:"maxItems"`
	Pattern              string            `json:"pattern"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Items                *schema           `json:"items"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	Embedded             bool              `json:"x-kubernetes-embedded-resource"`
	Rules                []struct {
		Rule    string `json:"rule"`
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// kindOrder is from what an admin lists to what stands behind it.
var kindOrder = []string{"Package", "Revision", "ObjectSlice"}

// apiPage describes every kind that the CustomResourceDefinitions define.
func apiPage(core, fronts fs.FS) (string, error) {
	definitions, err := definitionsIn(core, "*_*.yaml")
	if err != nil {
		return "", err
	}
	ofFronts, err := definitionsIn(fronts, "*/*_*.yaml")
	if err != nil {
		return "", err
	}
	definitions = append(definitions, ofFronts...)
	slices.SortStableFunc(definitions, func(a, b definition) int {
		return slices.Index(kindOrder, a.Spec.Names.Kind) - slices.Index(kindOrder, b.Spec.Names.Kind)
	})
	page := &strings.Builder{}
	heading(page, "API", "config/crd")
	for _, d := range definitions {
		writeKind(page, d)
	}
	return page.String(), nil
}

// definitionsIn are the definitions in the files that match a pattern.
func definitionsIn(files fs.FS, pattern string) ([]definition, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("looking for CustomResourceDefinitions: %d found, %w", len(names), err)
	}
	var definitions []definition
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		var d definition
		if err := yaml.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		definitions = append(definitions, d)
	}
	return definitions, nil
}

func writeKind(page *strings.Builder, d definition) {
	for _, version := range d.Spec.Versions {
		names := d.Spec.Names
		fmt.Fprintf(page, "\n## %s\n\n%s\n\n", names.Kind, strings.TrimSpace(version.Schema.Root.Description))
		fmt.Fprintf(page, "`apiVersion: %s/%s`, scope %s; `kubectl get %s`", d.Spec.Group, version.Name, d.Spec.Scope, names.Plural)
		for _, short := range names.ShortNames {
			fmt.Fprintf(page, " or `%s`", short)
		}
		page.WriteString(".\n\n| column | shows |\n|---|---|\n")
		for _, c := range version.Columns {
			shows := c.Description
			if shows == "" {
				shows = "`" + c.JSONPath + "`"
			}
			if c.Priority > 0 {
				shows += " (`-o wide`)"
			}
			fmt.Fprintf(page, "| %s | %s |\n", strings.ToUpper(c.Name), cell(shows))
		}
		page.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		var rules []string
		writeFields(page, "", version.Schema.Root, &rules)
		if len(rules) > 0 {
			page.WriteString("\nThe API server refuses, with the message on the right:\n\n| at | message |\n|---|---|\n" + strings.Join(rules, ""))
		}
	}
}

// writeFields writes a row for each field below a schema, and collects the rules
// that the API server checks.
func writeFields(page *strings.Builder, path string, s schema, rules *[]string) {
	for _, rule := range s.Rules {
		at := path
		if at == "" {
			at = "the object"
		}
		*rules = append(*rules, fmt.Sprintf("| `%s` | %s |\n", strings.TrimPrefix(at, "."), cell(rule.Message)))
	}
	switch {
	case s.Items != nil && !isCondition(*s.Items):
		writeFields(page, path+"[]", *s.Items, rules)
	case s.AdditionalProperties != nil:
		writeFields(page, path+".*", *s.AdditionalProperties, rules)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if path == "" && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		field := s.Properties[name]
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", strings.TrimPrefix(path+"."+name, "."), typeOf(field), cell(meaningOf(field, slices.Contains(s.Required, name))))
		if !field.Embedded {
			writeFields(page, path+"."+name, field, rules)
		}
	}
}

// isCondition is true for Kubernetes' own type, whose fields need no description.
func isCondition(s schema) bool {
	_, transition := s.Properties["lastTransitionTime"]
	_, reason := s.Properties["reason"]
	return transition && reason
}

func typeOf(s schema) string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Embedded:
		return "manifest"
	case s.Items != nil && isCondition(*s.Items):
		return "list of conditions"
	case s.Items != nil:
		return "list of " + typeOf(*s.Items)
	case s.AdditionalProperties != nil:
		return "map to " + typeOf(*s.AdditionalProperties)
	case s.Format == "date-time":
		return "time"
	case s.Format == "byte":
		return "base64"
	default:
		return s.Type
	}
}

// meaningOf is the description, and what the schema says besides.
func meaningOf(s schema, required bool) string {
	var extra []string
	if required {
		extra = append(extra, "Required.")
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, fmt.Sprintf("`%v`", value))
		}
		extra = append(extra, "One of "+strings.Join(values, ", ")+".")
	}
	if s.Minimum != nil {
		extra = append(extra, fmt.Sprintf("At least %g.", *s.Minimum))
	}
	if s.Maximum != nil {
		extra = append(extra, fmt.Sprintf("At most %g.", *s.Maximum))
	}
	if s.MaxLength != nil {
		extra = append(extra, fmt.Sprintf("At most %d characters.", *s.MaxLength))
	}
	if s.MaxItems != nil {
		extra = append(extra, fmt.Sprintf("At most %d.", *s.MaxItems))
	}
	if s.Pattern != "" {
		extra = append(extra, "Matches `"+s.Pattern+"`.")
	}
	if s.Default != nil && !strings.Contains(s.Description, "Default") {
		extra = append(extra, fmt.Sprintf("Default `%v`.", s.Default))
	}
	return strings.TrimSpace(s.Description + " " + strings.Join(extra, " "))
}

// cell makes text fit for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
