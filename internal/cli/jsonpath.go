// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/strata-run/strata/internal/cli/output"
)

// parseJSONPath reads a template as kubectl takes it. What is missing in a document
// is nothing, not an error: documents leave out what is empty.
func parseJSONPath(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{" + template + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	return path, nil
}

// printJSONPath writes what a template takes of a document, cleaned line by line.
func printJSONPath(p *output.Printer, template string, v any) error {
	path, err := parseJSONPath(template)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", v, err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("decoding %T: %w", v, err)
	}
	var out bytes.Buffer
	if err := path.Execute(&out, document); err != nil {
		return fmt.Errorf("evaluating -o jsonpath: %w", err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		p.Line(output.Span{Text: line})
	}
	return p.Err()
}
