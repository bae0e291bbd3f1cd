// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/front"
)

type searchOptions struct {
	catalogOptions

	output   outputFormat
	versions bool
}

func (a *app) catalogSearchCommand(of front.Registration) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:   "search [WORD...]",
		Short: "Search the packages of catalogs",
		Long: `Search the packages of the cluster's catalogs, or of one outside of it, for
those whose name or description has every word; without a word all are listed.
VERSION is the best one of the default channel; --versions lists each one.

The content of a catalog is what catalogd serves, through the API server, or the
image that the manager has read, with the logins of your machine for registries.
Images are kept in ~/.cache/strata/catalogs for later commands.

Exit codes: 0 found; 1 nothing matches, or no catalog can be read; 2 usage; 6
the cluster has no ClusterCatalogs, or none of that name; 7 no cluster answers.
Rights: list clustercatalogs.olm.operatorframework.io; where catalogd serves
them also get services/proxy in its namespace; none with --from.`,
		Example: `  strata catalog search
  strata catalog search argo --versions
  strata catalog search --from docker://quay.io/operatorhubio/catalog:latest gitops`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, words []string) error {
			return a.openCatalogs(ctx, of, o.catalogOptions, func(open []openCatalog) error { return a.catalogSearch(of, o, open, words) })
		}),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	o.add(a, cmd, of)
	cmd.Flags().BoolVarP(&o.versions, "versions", "l", false, "list every version")
	return cmd
}

func (a *app) catalogSearch(of front.Registration, o searchOptions, open []openCatalog, words []string) error {
	doc := view.CatalogPackages{TypeMeta: view.DocumentType("CatalogPackages"), Packages: []view.CatalogPackage{}}
	var err error
	if doc.Unread, err = a.unreadable(open); err != nil {
		return err
	}
	for _, c := range open {
		if c.err != nil {
			continue
		}
		for _, name := range c.content.Packages() {
			found, _, err := catalogPackage(of, c, name, nil)
			if err != nil {
				return err
			}
			if !o.versions {
				found.Versions = nil
			}
			found.Problems = nil
			if hasWords(found.Name+" "+found.Description, words) {
				doc.Packages = append(doc.Packages, found)
			}
		}
	}
	err = a.print(o.output, doc, func(p *output.Printer) {
		if len(doc.Packages) > 0 {
			view.WriteFoundPackages(p, doc)
			return
		}
		p.Line(output.Span{Text: fmt.Sprintf("No package of %s matches.", view.CountOf(len(open)-len(doc.Unread), "catalog"))})
	})
	if err == nil && len(doc.Packages) == 0 {
		return &ExitError{Code: CodeFalse}
	}
	return err
}

func hasWords(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, word := range words {
		if !strings.Contains(text, strings.ToLower(word)) {
			return false
		}
	}
	return true
}
