// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaPlace names the schema in its own references.
const schemaPlace = "chart:///values.schema.json"

// ErrValues is in the error of values that the chart's values.schema.json does not allow.
var ErrValues = errors.New("checking the values against values.schema.json")

// noLoader refuses references to other schemas: they would be followed over the network,
// or into this machine's files.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and references to other files are not followed", url)
}

// checkValues checks values against the chart's values.schema.json, if it has one.
func (c *Chart) checkValues(values any) error {
	if len(c.parsed.Schema) == 0 {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.parsed.Schema))
	if err != nil {
		return fmt.Errorf("reading values.schema.json: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaPlace, document); err != nil {
		return fmt.Errorf("reading values.schema.json: %w", err)
	}
	schema, err := compiler.Compile(schemaPlace)
	if err != nil {
		return fmt.Errorf("reading values.schema.json: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(values); errors.As(err, &invalid) {
		return fmt.Errorf("%w: %s", ErrValues, strings.Join(violations(invalid), "; "))
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrValues, err)
	}
	return nil
}

// quoted are the messages that quote the value, which may be a password.
var quoted = regexp.MustCompile(`^'.*' (does not match pattern|is not valid)`)

// violations are what is wrong, a text for each value, without the values.
func violations(invalid *jsonschema.ValidationError) []string {
	var all []string
	for line := range strings.SplitSeq(invalid.Error(), "\n") {
		at, found := strings.CutPrefix(strings.TrimSpace(line), "- at '")
		if !found {
			continue
		}
		path, message, _ := strings.Cut(at, "': ")
		// A line that ends so has its causes below.
		if strings.HasSuffix(message, "failed") {
			continue
		}
		all = append(all, "value "+strings.ReplaceAll("."+strings.Trim(path, "/"), "/", ".")+": "+quoted.ReplaceAllString(message, "$1"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
