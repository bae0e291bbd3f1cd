// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/front"
)

func (a *app) catalogListCommand(of front.Registration) *cobra.Command {
	var o outputFormat
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the ClusterCatalogs and how they stand",
		Long: `List the ClusterCatalogs of the cluster: whether extensions can be resolved from
them, which one wins where two have the same package (PRIORITY), how long ago
the content was read, and from which image.

Exit codes: 0 whatever there is; 2 usage; 6 the cluster has no ClusterCatalogs;
7 no cluster answers. Rights: list clustercatalogs.olm.operatorframework.io.`,
		Example: `  strata catalog list
  strata catalog list -o json`,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			found, err := c.listCatalogs(ctx, of)
			if err != nil {
				return err
			}
			doc := view.Catalogs{TypeMeta: view.DocumentType("Catalogs"), Catalogs: found}
			return a.print(o, doc, func(p *output.Printer) { view.WriteCatalogs(p, doc, a.now()) })
		}),
	}
	addOutput(cmd, &o, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	return cmd
}

// completeCatalogs completes the names of ClusterCatalogs.
func (a *app) completeCatalogs(of front.Registration) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) (names []cobra.Completion, directive cobra.ShellCompDirective) {
		ctx, cancel := completionContext(cmd)
		defer cancel()
		if c, err := a.connect(); err == nil {
			all, _ := c.listCatalogs(ctx, of) // without catalogs nothing is completed
			for _, one := range all {
				if strings.HasPrefix(one.Name, prefix) {
					names = append(names, describe(one.Name, one.State))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOffered completes the names of packages, as far as their catalogs can be read without a request
// to a registry or catalogd: a shell does not wait for these.
func (a *app) completeOffered(of front.Registration, o *catalogOptions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (names []cobra.Completion, directive cobra.ShellCompDirective) {
		if len(args) > 0 || o.from != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := completionContext(cmd)
		defer cancel()
		c, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := c.listCatalogs(ctx, of)
		kept := contents{cache: a.catalogCache()}
		for _, one := range all {
			content, found := kept.kept(one)
			if !found {
				continue
			}
			for _, name := range content.Packages() {
				if strings.HasPrefix(name, prefix) {
					names = append(names, describe(name, one.Name))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
