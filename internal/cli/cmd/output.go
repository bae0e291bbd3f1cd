// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

// outputFormat is a value of -o. The empty one is for people.
type outputFormat string

const (
	outputText outputFormat = ""
	outputWide outputFormat = "wide"
	outputJSON outputFormat = "json"
	outputYAML outputFormat = "yaml"
	outputName outputFormat = "name"
	// outputJSONPath stands for the templates that kubectl takes: jsonpath=TEMPLATE,
	// go-template=TEMPLATE and custom-columns=HEAD:PATH,..., which are the value then.
	outputJSONPath outputFormat = "jsonpath"
)

var templates = []struct {
	name, argument string
	parse          func(template string) (documentPrinter, error)
}{
	{"jsonpath", "TEMPLATE", parseJSONPath},
	{"go-template", "TEMPLATE", parseGoTemplate},
	{"custom-columns", "HEAD:PATH,...", parseColumns},
}

type documentPrinter func(p *output.Printer, document any) error

// printer is what writes a document in a format that contains a template, and whether it
// contains one.
func (f outputFormat) printer() (write documentPrinter, isTemplate bool, err error) {
	for _, t := range templates {
		if template, found := strings.CutPrefix(string(f), t.name+"="); found {
			write, err = t.parse(template)
			return write, true, err
		}
	}
	return nil, false, nil
}

// printNext writes one of several documents: in JSON on one line, in YAML as part of a stream.
func printNext(p *output.Printer, format outputFormat, v any, isFirst bool) error {
	switch {
	case format == outputJSON:
		p.JSONLine(v)
		return p.Err()
	case format == outputYAML && !isFirst:
		p.Line(output.Span{Text: "---"})
	}
	return printDocument(p, format, v)
}

// valueFlag is a flag of the help's type kind, whose values set checks.
type valueFlag struct {
	kind string
	set  func(string) error
	text func() string
}

// Set is called for the flag's value.
func (f valueFlag) Set(s string) error { return f.set(s) }

// String is the flag's value.
func (f valueFlag) String() string { return f.text() }

// Type is shown in the help.
func (f valueFlag) Type() string { return f.kind }

func addOutput(cmd *cobra.Command, o *outputFormat, allowed ...outputFormat) {
	var formats, words []string
	for _, f := range allowed {
		formats = append(formats, string(f))
		if f != outputJSONPath {
			words = append(words, string(f))
			continue
		}
		for _, t := range templates {
			words = append(words, t.name+"="+t.argument)
		}
	}
	list := strings.Join(words, ", ")
	cmd.Flags().VarP(valueFlag{kind: "FORMAT", text: func() string { return string(*o) }, set: func(s string) error {
		_, isTemplate, err := outputFormat(s).printer()
		switch {
		case err != nil:
			return err
		case isTemplate && slices.Contains(allowed, outputJSONPath):
		case s == string(outputJSONPath) || !slices.Contains(allowed, outputFormat(s)):
			return fmt.Errorf("must be one of %s", list)
		}
		*o = outputFormat(s)
		return nil
	}}, "output", "o", "output format: "+list)
	complete(cmd, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// isDocument is true for the formats that programs read.
func (f outputFormat) isDocument() bool {
	_, isTemplate, _ := f.printer() // checked when it was set
	return isTemplate || f == outputJSON || f == outputYAML
}

// print writes a document to stdout: in one of the formats that programs read, by the names
// of what it is about, or as text.
func (a *app) print(o outputFormat, document any, write func(p *output.Printer)) error {
	p := a.stdout(o)
	named, isNamed := document.(interface{ Names() []string })
	switch {
	case o.isDocument():
		return printDocument(p, o, document)
	case o == outputName && isNamed:
		for _, name := range named.Names() {
			p.Line(output.Span{Text: name})
		}
	default:
		write(p)
	}
	return p.Err()
}

// text is a printer for what stands beside a document: it writes nothing where stdout is to
// be one.
func (a *app) text(o outputFormat) *output.Printer {
	if o.isDocument() {
		return output.New(io.Discard, 0, false)
	}
	return a.stdout(o)
}

// end writes the document if that is asked for; else all was written as text.
func (a *app) end(o outputFormat, p *output.Printer, document any) error {
	if o.isDocument() {
		return printDocument(a.stdout(o), o, document)
	}
	return p.Err()
}

// printDocument writes a value in one of the formats that programs read.
func printDocument(p *output.Printer, format outputFormat, v any) error {
	write, isTemplate, err := format.printer()
	switch {
	case err != nil:
		return err
	case isTemplate:
		document, err := readBack(v)
		if err != nil {
			return err
		}
		return write(p, document)
	case format == outputYAML:
		p.YAML(v)
	default:
		p.JSON(v)
	}
	return p.Err()
}

// addChoice adds a flag that takes one of some words, or its default.
func addChoice(cmd *cobra.Command, value *string, name, byDefault, usage string, allowed ...string) {
	*value = byDefault
	cmd.Flags().Var(valueFlag{kind: "string", text: func() string { return *value }, set: func(s string) error {
		if last := len(allowed) - 1; !slices.Contains(allowed, s) {
			return fmt.Errorf("must be %s or %s", strings.Join(allowed[:last], ", "), allowed[last])
		}
		*value = s
		return nil
	}}, name, usage)
	complete(cmd, name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// addRevision adds a flag that names a revision of the package in the first argument, or 0.
func (a *app) addRevision(cmd *cobra.Command, revision *int64, name, usage string) {
	cmd.Flags().Var(valueFlag{kind: "int", text: func() string { return view.Number(*revision) }, set: func(s string) (err error) {
		if *revision, err = revisionNumber(s); s == "0" {
			return nil
		}
		return err
	}}, name, usage)
	complete(cmd, name, a.completeRevisions)
}
