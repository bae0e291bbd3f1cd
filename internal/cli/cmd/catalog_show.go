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
	"github.com/strata-run/strata/internal/front"
)

type catalogShowOptions struct {
	catalogOptions

	output    outputFormat
	channels  []string
	installed string
}

func (a *app) catalogShowCommand(of front.Registration) *cobra.Command {
	var o catalogShowOptions
	cmd := &cobra.Command{
		Use:   "show PACKAGE",
		Short: "Show a package's channels, versions, deprecations and upgrades",
		Long: `Show what catalogs have of a package: its channels, its versions with the
channels that have them, what is deprecated, and what cannot be installed. Where
several catalogs have it, each is shown.

With --upgrade-from also which bundles may follow on an installed version, and
why: because an entry of a channel replaces it, skips it, or has a skipRange
that contains it. The manager takes the first one that is in the range of the
ClusterExtension; the last line says where one after the other ends.

Exit codes: 0 it is shown; 1 no catalog can be read; 2 usage; 3 the package
cannot be used as it is in a catalog; 6 no catalog has it; 7 no cluster answers.
Rights: those of strata catalog search.`,
		Example: `  strata catalog show argocd-operator
  strata catalog show argocd-operator --upgrade-from 0.6.0 --channel alpha
  strata catalog show argocd-operator --from oci:./catalog -o yaml`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOffered(of, &o.catalogOptions),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.openCatalogs(ctx, of, o.catalogOptions, func(open []openCatalog) error { return a.catalogShow(of, o, open, args[0]) })
		}),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	o.add(a, cmd, of)
	cmd.Flags().StringSliceVar(&o.channels, "channel", nil, "only the versions and upgrades of this channel; can be given more than once")
	cmd.Flags().StringVar(&o.installed, "upgrade-from", "", "the version, or the bundle, that is installed: show what may follow on it")
	complete(cmd, "channel", cobra.NoFileCompletions)
	complete(cmd, "upgrade-from", cobra.NoFileCompletions)
	return cmd
}

func (a *app) catalogShow(of front.Registration, o catalogShowOptions, open []openCatalog, name string) error {
	doc := view.CatalogPackages{TypeMeta: view.DocumentType("CatalogPackages"), Packages: []view.CatalogPackage{}}
	var err error
	if doc.Unread, err = a.unreadable(open); err != nil {
		return err
	}
	unusable := false
	for _, c := range open {
		if c.err != nil {
			continue
		}
		found, source, err := catalogPackage(of, c, name, o.channels)
		if errors.Is(err, catalog.ErrNoPackage) {
			continue
		}
		if err == nil && o.installed != "" {
			found.Upgrades = &view.CatalogUpgrades{From: o.installed, Next: []front.Upgrade{}}
			found.Upgrades.Next, found.Upgrades.Path, err = of.Extensions.Upgrades(&source, o.channels, o.installed)
			if err != nil {
				err = exitf(CodeUsage, "flag --upgrade-from: %w", err)
			}
		}
		if err != nil {
			return err
		}
		unusable = unusable || found.Unusable != ""
		doc.Packages = append(doc.Packages, found)
	}
	if len(doc.Packages) == 0 {
		return exitf(CodeNotFound, "no catalog has the package %s; `strata catalog search` lists those that there are", name)
	}
	err = a.print(o.output, doc, func(p *output.Printer) { view.WriteCatalogPackages(p, doc) })
	if err == nil && unusable {
		return &ExitError{Code: CodeTerminal}
	}
	return err
}
