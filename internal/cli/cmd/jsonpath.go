// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/util/jsonpath"

	"github.com/strata-run/strata/internal/cli/output"
)

// readBack is a value as its JSON says it, which is what templates are written for.
func readBack(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("decoding %T: %w", v, err)
	}
	return document, nil
}

// pathOf reads a JSONPath as kubectl takes it. What is missing in a document is nothing,
// not an error: documents leave out what is empty.
func pathOf(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{" + template + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	return path, nil
}

func parseJSONPath(template string) (documentPrinter, error) {
	path, err := pathOf(template)
	if err != nil {
		return nil, err
	}
	return func(p *output.Printer, document any) error {
		var out bytes.Buffer
		if err := path.Execute(&out, document); err != nil {
			return fmt.Errorf("evaluating -o jsonpath: %w", err)
		}
		return printLines(p, out.String())
	}, nil
}

func parseGoTemplate(template string) (documentPrinter, error) {
	printer, err := printers.NewGoTemplatePrinter([]byte(template))
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	printer.AllowMissingKeys(true)
	return func(p *output.Printer, document any) error {
		fields, ok := document.(map[string]any)
		if !ok {
			return errors.New("-o go-template: the document is not an object")
		}
		var out bytes.Buffer
		if err := printer.PrintObj(&unstructured.Unstructured{Object: fields}, &out); err != nil {
			return fmt.Errorf("evaluating -o go-template: %w", err)
		}
		return printLines(p, out.String())
	}, nil
}

func printLines(p *output.Printer, text string) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		p.Line(output.Span{Text: line})
	}
	return p.Err()
}

// parseColumns reads the columns of -o custom-columns: HEAD:PATH, separated by commas. A
// List has a row for each item.
func parseColumns(spec string) (documentPrinter, error) {
	var columns []output.Column
	var paths []*jsonpath.JSONPath
	for part := range strings.SplitSeq(spec, ",") {
		head, text, found := strings.Cut(part, ":")
		if !found || head == "" || text == "" {
			return nil, fmt.Errorf("reading the columns: %q is not HEAD:PATH", part)
		}
		if !strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "{") {
			text = "." + text
		}
		path, err := pathOf(text)
		if err != nil {
			return nil, err
		}
		columns, paths = append(columns, output.Column{Head: head}), append(paths, path)
	}
	return func(p *output.Printer, document any) error {
		items := []any{document}
		if fields, ok := document.(map[string]any); ok {
			if list, isList := fields["items"].([]any); isList {
				items = list
			}
		}
		rows := make([][]output.Cell, len(items))
		for i, item := range items {
			var err error
			if rows[i], err = columnsOf(item, paths); err != nil {
				return err
			}
		}
		p.WholeTables()
		p.Table(columns, rows)
		return p.Err()
	}, nil
}

func columnsOf(item any, paths []*jsonpath.JSONPath) ([]output.Cell, error) {
	var row []output.Cell
	for _, path := range paths {
		var out bytes.Buffer
		if err := path.Execute(&out, item); err != nil {
			return nil, fmt.Errorf("evaluating -o custom-columns: %w", err)
		}
		text := out.String()
		if text == "" {
			text = "<none>"
		}
		row = append(row, output.Cell{Text: text})
	}
	return row, nil
}
