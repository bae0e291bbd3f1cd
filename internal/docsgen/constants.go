// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/strata-run/strata/internal/front"
)

// constantSources are the files that the page of conditions is made of, and eventSources those of
// the page of events, before those of fronts.
var (
	constantSources = []front.Source{
		{File: "api/v1alpha1/conditions.go", Title: "Conditions"},
		{File: "api/v1alpha1/labels.go", Title: "Labels, annotations, finalizers and field owners"},
	}
	eventSources = []front.Source{{File: "internal/telemetry/reasons.go", Title: "Events"}}
)

// constantsPage lists constants with what their comments say.
func constantsPage(root fs.FS, title, from string, sources []front.Source) (string, error) {
	page := &strings.Builder{}
	heading(page, title, "the comments in "+from)
	for _, source := range sources {
		data, err := fs.ReadFile(root, source.File)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", source.File, err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(source.File), data, parser.ParseComments)
		if err != nil {
			return "", fmt.Errorf("parsing %s: %w", source.File, err)
		}
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			if err := writeConstants(page, source.Title, group); err != nil {
				return "", fmt.Errorf("reading %s: %w", source.File, err)
			}
		}
	}
	return page.String(), nil
}

func writeConstants(page *strings.Builder, title string, group *ast.GenDecl) error {
	if text := strings.TrimSpace(group.Doc.Text()); text != "" {
		title = strings.TrimSuffix(text, ".")
	}
	rows, statusColumn := map[bool][]string{}, "status"
	for _, spec := range group.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || len(value.Names) != 1 || len(value.Values) != 1 {
			return fmt.Errorf("a constant of %q has not one name and one value", title)
		}
		literal, ok := value.Values[0].(*ast.BasicLit)
		if !ok {
			return fmt.Errorf("constant %s is not a literal", value.Names[0].Name)
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return fmt.Errorf("constant %s: %w", value.Names[0].Name, err)
		}
		status, meaning := meaningOfConstant(value.Names[0].Name, value.Doc.Text())
		if strings.HasPrefix(status, "Normal") || strings.HasPrefix(status, "Warning") {
			statusColumn = "type"
		}
		rows[status != ""] = append(rows[status != ""], row(text, status, meaning))
	}
	fmt.Fprintf(page, "\n## %s\n\n", title)
	if reasons := rows[true]; len(reasons) > 0 {
		page.WriteString("| reason | " + statusColumn + " | meaning |\n|---|---|---|\n" + strings.Join(reasons, ""))
	}
	if others := rows[false]; len(others) > 0 {
		page.WriteString("| value | meaning |\n|---|---|\n" + strings.Join(others, ""))
	}
	return nil
}

func row(value, status, meaning string) string {
	if status == "" {
		return fmt.Sprintf("| `%s` | %s |\n", value, cell(meaning))
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", value, status, cell(meaning))
}

var (
	reasonComment = regexp.MustCompile(`^\w+ \((True|False|Unknown|Normal|Warning)(?:, on an? (\w+))?\): `)
	docLink       = regexp.MustCompile(`\[(\w+)\]`)
)

// meaningOfConstant is a constant's comment without its Go name, with a capital,
// and the status that it gives in brackets.
func meaningOfConstant(name, comment string) (status, meaning string) {
	comment = strings.TrimSpace(comment)
	if match := reasonComment.FindStringSubmatch(comment); match != nil {
		status = match[1]
		if match[2] != "" {
			status += " (" + match[2] + ")"
		}
		comment = strings.TrimPrefix(comment, match[0])
	} else {
		comment = strings.TrimPrefix(comment, name+" ")
	}
	comment = docLink.ReplaceAllString(comment, "$1")
	if first, _, _ := strings.Cut(comment, " "); first == "" || strings.Contains(first, ".") {
		return status, comment // the path of a field stays as it is
	}
	return status, strings.ToUpper(comment[:1]) + comment[1:]
}
