// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

type validateOptions struct {
	registryOptions

	output    outputFormat
	threshold string
}

func (a *app) catalogValidateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Find what is wrong with a catalog, and where",
		Long: `Find what is wrong with a file-based catalog: a folder, an OCI image layout
(oci:FOLDER[:TAG]) or an image (docker://IMAGE). Each problem has the file and
the line where its object begins, and a rule whose name does not change.

An error keeps a package from being used, or is of an object that belongs to
none; the other packages of the catalog stay usable. A warning keeps nothing
from being used, such as a channel without a head or an entry without a bundle.

Exit codes: 0 clean; 1 there are problems of --threshold or worse; 2 usage, or
there is no such folder; 3 it is no catalog, or has no packages. Rights: none.`,
		Example: `  strata catalog validate ./catalog
  strata catalog validate ./catalog --threshold warning -o json
  strata catalog validate docker://quay.io/operatorhubio/catalog:latest`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: a.run(func(ctx context.Context, args []string) error { return a.catalogValidate(ctx, o, args[0]) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	addChoice(cmd, &o.threshold, "threshold", "error", "how bad a problem must be to make the exit code 1: error or warning", "error", "warning")
	o.add(cmd)
	return cmd
}

func (a *app) catalogValidate(ctx context.Context, o validateOptions, source string) error {
	contents, err := a.newContents(o.registryOptions, nil)
	if err != nil {
		return err
	}
	defer contents.close()
	content, err := contents.from(ctx, source)
	if err != nil {
		if _, is := errors.AsType[*ExitError](err); is {
			return err
		}
		return exitf(CodeTerminal, "%s: %w", source, err)
	}
	doc := view.CatalogValidation{TypeMeta: view.DocumentType("CatalogValidation"), Source: source, Packages: len(content.Packages()), Blobs: content.Blobs(), Problems: []catalog.Problem{}}
	for _, problem := range content.Problems() {
		doc.Add(problem, o.threshold)
	}
	for _, name := range content.Packages() {
		pkg, err := content.Package(name)
		problems := pkg.Warnings
		if unusable, is := errors.AsType[*catalog.PackageError](err); is {
			problems = append(unusable.Problems, problems...)
		} else if err != nil {
			return err
		}
		for _, problem := range problems {
			doc.Add(problem, o.threshold)
		}
	}
	err = a.print(o.output, doc, func(p *output.Printer) { view.WriteCatalogValidation(p, doc) })
	switch {
	case err != nil:
		return err
	case doc.Packages == 0:
		return exitf(CodeTerminal, "%s: it has no packages", source)
	case doc.Failed:
		return &ExitError{Code: CodeFalse}
	}
	return nil
}
