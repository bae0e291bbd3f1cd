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

// documentPrinter writes a document that was read back from JSON.
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

type outputFlag struct {
	value   outputFormat
	allowed []outputFormat
}

func addOutput(cmd *cobra.Command, o *outputFlag, allowed ...outputFormat) {
	o.allowed = allowed
	cmd.Flags().VarP(o, "output", "o", "output format: "+o.list())
	formats := make([]string, len(allowed))
	for i, f := range allowed {
		formats[i] = string(f)
	}
	complete(cmd, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

func (o *outputFlag) list() string {
	words := make([]string, len(o.allowed))
	for i, f := range o.allowed {
		words[i] = string(f)
		if f == outputJSONPath {
			var forms []string
			for _, t := range templates {
				forms = append(forms, t.name+"="+t.argument)
			}
			words[i] = strings.Join(forms, ", ")
		}
	}
	return strings.Join(words, ", ")
}

// Set is called for the flag's value.
func (o *outputFlag) Set(s string) error {
	_, isTemplate, err := outputFormat(s).printer()
	switch {
	case err != nil:
		return err
	case isTemplate && slices.Contains(o.allowed, outputJSONPath):
	case s == string(outputJSONPath) || !slices.Contains(o.allowed, outputFormat(s)):
		return fmt.Errorf("must be one of %s", o.list())
	}
	o.value = outputFormat(s)
	return nil
}

// String is the flag's value.
func (o *outputFlag) String() string { return string(o.value) }

// Type is shown in the help.
func (o *outputFlag) Type() string { return "FORMAT" }

// isDocument is true for the formats that programs read.
func (o *outputFlag) isDocument() bool {
	_, isTemplate, _ := o.value.printer() // checked when it was set
	return isTemplate || o.value == outputJSON || o.value == outputYAML
}

// print writes a document to stdout: in one of the formats that programs read, by the names
// of what it is about, or as text.
func (a *app) print(o outputFlag, document any, write func(p *output.Printer)) error {
	p := a.stdout(o.value)
	named, isNamed := document.(interface{ Names() []string })
	switch {
	case o.isDocument():
		return printDocument(p, o.value, document)
	case o.value == outputName && isNamed:
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
func (a *app) text(o outputFlag) *output.Printer {
	if o.isDocument() {
		return output.New(io.Discard, 0, false)
	}
	return a.stdout(o.value)
}

// end writes the document if that is asked for; else all was written as text.
func (a *app) end(o outputFlag, p *output.Printer, document any) error {
	if o.isDocument() {
		return printDocument(a.stdout(o.value), o.value, document)
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

type choiceFlag struct {
	value   *string
	allowed []string
}

// addChoice adds a flag that takes one of some words, or its default.
func addChoice(cmd *cobra.Command, value *string, name, byDefault, usage string, allowed ...string) {
	*value = byDefault
	cmd.Flags().Var(&choiceFlag{value: value, allowed: allowed}, name, usage)
	complete(cmd, name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// Set is called for the flag's value.
func (f *choiceFlag) Set(s string) error {
	if last := len(f.allowed) - 1; !slices.Contains(f.allowed, s) {
		return fmt.Errorf("must be %s or %s", strings.Join(f.allowed[:last], ", "), f.allowed[last])
	}
	*f.value = s
	return nil
}

// String is the flag's value.
func (f *choiceFlag) String() string { return *f.value }

// Type is shown in the help.
func (f *choiceFlag) Type() string { return "string" }

// revisionFlag is a flag that takes the number of a revision, or 0.
type revisionFlag int64

// addRevision adds a flag that names a revision of the package in the first argument.
func (a *app) addRevision(cmd *cobra.Command, revision *int64, name, usage string) {
	cmd.Flags().Var((*revisionFlag)(revision), name, usage)
	complete(cmd, name, a.completeRevisions)
}

// Set is called for the flag's value.
func (f *revisionFlag) Set(s string) error {
	n, err := revisionNumber(s)
	if s == "0" {
		err = nil
	}
	*f = revisionFlag(n)
	return err
}

// String is the flag's value.
func (f *revisionFlag) String() string { return view.Number(int64(*f)) }

// Type is shown in the help.
func (f *revisionFlag) Type() string { return "int" }
