// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/front"
)

// extensionsFront is the front that installs bundles from catalogs, and whether there is one.
func extensionsFront() (front.Registration, bool) {
	i := slices.IndexFunc(controller.Fronts, func(f front.Registration) bool { return f.Extensions != nil })
	if i < 0 {
		return front.Registration{}, false
	}
	return controller.Fronts[i], true
}

// extensionCommands are the commands about extensions and their catalogs, none without a front for them.
func (a *app) extensionCommands() []*cobra.Command {
	of, found := extensionsFront()
	if !found {
		return nil
	}
	catalogs := &cobra.Command{
		Use:   "catalog",
		Short: "See which packages catalogs offer, and which upgrades",
		Long:  "See which packages catalogs offer, in which channels and versions, and what an\nupgrade would take.",
	}
	catalogs.AddCommand(a.catalogListCommand(of), a.catalogSearchCommand(of), a.catalogShowCommand(of), a.catalogValidateCommand())
	extensions := &cobra.Command{
		Use:   "extension",
		Short: "See which bundle a ClusterExtension gets, and what it changes",
		Long:  "See which bundle of a catalog a ClusterExtension gets, why, and what that would\nchange.",
	}
	extensions.AddCommand(a.extensionPlanCommand(of))
	return []*cobra.Command{catalogs, extensions}
}

// catalogOptions are the flags of commands that read catalogs.
type catalogOptions struct {
	registryOptions

	from     string
	catalogs []string
}

func (o *catalogOptions) add(a *app, cmd *cobra.Command, of front.Registration) {
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "a catalog outside of the cluster: docker://IMAGE, oci:FOLDER[:TAG] for an OCI image layout, or a folder")
	f.StringSliceVar(&o.catalogs, "catalog", nil, "only the ClusterCatalog of this name; can be given more than once")
	cmd.MarkFlagsMutuallyExclusive("from", "catalog")
	o.registryOptions.add(cmd)
	complete(cmd, "catalog", a.completeCatalogs(of))
}

// forFront is a client for the resources of a front, whose kinds need no discovery.
func (c *cluster) forFront(of front.Registration) (client.Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if err := of.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	fixed := meta.NewDefaultRESTMapper(nil)
	for _, kind := range of.Served {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme)
		if err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
		fixed.Add(gvk, meta.RESTScopeRoot)
	}
	mapper := meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{fixed, c.client.RESTMapper()}}
	return client.New(c.config, client.Options{Scheme: scheme, Mapper: mapper})
}

// listCatalogs are the catalogs of a cluster.
func (c *cluster) listCatalogs(ctx context.Context, of front.Registration) ([]front.Catalog, error) {
	reader, err := c.forFront(of)
	if err != nil {
		return nil, err
	}
	found, err := of.Extensions.Catalogs(ctx, reader)
	if isMissingKind(err) || meta.IsNoMatchError(err) {
		return nil, exitf(CodeNotFound, "the cluster at %s has no ClusterCatalogs: their definition is not installed; give a catalog with --from", c.host)
	}
	return found, c.explain("listing the ClusterCatalogs", err)
}

// openCatalog is a catalog that was read, or why it was not.
type openCatalog struct {
	name    string
	content *catalog.Content
	err     error
}

// openCatalogs reads the catalogs that the flags name, for as long as do runs.
func (a *app) openCatalogs(ctx context.Context, of front.Registration, o catalogOptions, do func([]openCatalog) error) error {
	if o.from != "" {
		contents, err := a.newContents(o.registryOptions, nil)
		if err != nil {
			return err
		}
		defer contents.close()
		content, err := contents.from(ctx, o.from)
		if err != nil {
			return err
		}
		return do([]openCatalog{{name: o.from, content: content}})
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	all, err := c.listCatalogs(ctx, of)
	if err != nil {
		return err
	}
	contents, err := a.newContents(o.registryOptions, c.config)
	if err != nil {
		return err
	}
	defer contents.close()
	var open []openCatalog
	for _, one := range all {
		if len(o.catalogs) > 0 && !slices.Contains(o.catalogs, one.Name) || len(o.catalogs) == 0 && one.State == "Unavailable" {
			continue
		}
		content, err := contents.of(ctx, one)
		open = append(open, openCatalog{one.Name, content, err})
	}
	for _, name := range o.catalogs {
		if !slices.ContainsFunc(all, func(c front.Catalog) bool { return c.Name == name }) {
			return exitf(CodeNotFound, "ClusterCatalog %s: not in the cluster at %s; there are: %s", name, c.host, strings.Join(view.Catalogs{Catalogs: all}.Names(), ", "))
		}
	}
	return do(open)
}

// unreadable notes the catalogs that could not be read, and fails when none could.
func (a *app) unreadable(open []openCatalog) ([]string, error) {
	var unread []string
	var last error
	for _, c := range open {
		if c.err != nil {
			unread, last = append(unread, fmt.Sprintf("catalog %s: %v", c.name, c.err)), c.err
		}
	}
	switch {
	case len(open) == 0:
		return nil, exitf(CodeNotFound, "the cluster has no ClusterCatalog that is available; give a catalog with --from")
	case len(unread) == len(open):
		return nil, fmt.Errorf("catalog %s: %w", open[len(open)-1].name, last)
	}
	for _, text := range unread {
		a.note("Note: not read: %s", text)
	}
	return unread, nil
}

// catalogPackage is what a catalog has of a package, and whether it has it.
func catalogPackage(of front.Registration, c openCatalog, name string, channels []string) (found view.CatalogPackage, source catalog.Package, err error) {
	source, err = c.content.Package(name)
	found = view.CatalogPackage{
		Catalog: c.name, Name: name, Description: source.Description, DefaultChannel: source.DefaultChannel,
		PackageDetails: of.Extensions.Describe(&source, channels), Problems: source.Warnings,
	}
	if unusable, is := errors.AsType[*catalog.PackageError](err); is {
		found.Unusable, err = unusable.Problems[0].String(), nil
		found.Problems = append(slices.Clone(unusable.Problems), found.Problems...)
	}
	for _, channel := range found.Channels {
		if channel.Default {
			found.Version = channel.Latest
		}
	}
	if found.Version == "" && len(found.Versions) > 0 {
		found.Version = found.Versions[0].Version
	}
	return found, source, err
}
