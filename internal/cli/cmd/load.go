// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

// packageField is the field of a Revision that the API server selects by.
const packageField = "spec.package"

// packageTypes are the words for the type as kubectl takes it.
var packageTypes = []string{"package", "packages", "spkg", "pkg"}

// packageName is the name in an argument, which may have its type before it as
// kubectl writes it: package/NAME, spkg/NAME or package.strata.run/NAME.
func packageName(arg string) string {
	kind, name, found := strings.Cut(arg, "/")
	if !found {
		return arg
	}
	kind, _, _ = strings.Cut(kind, ".")
	if slices.Contains(packageTypes, kind) {
		return name
	}
	return arg
}

// onePackage is the check of a command that takes the name of one package.
func onePackage(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("the name of a package is required: `strata get` lists them")
	case 1:
		return nil
	}
	return fmt.Errorf("one package at a time: %s is one too many", args[1])
}

// onPackage makes a command one about the package that its argument names.
func (a *app) onPackage(cmd *cobra.Command, f func(ctx context.Context, name string) error) {
	cmd.Args, cmd.ValidArgsFunction = onePackage, a.completePackages(1)
	cmd.RunE = a.run(func(ctx context.Context, args []string) error { return f(ctx, packageName(args[0])) })
}

func (a *app) readPackage(ctx context.Context, name string) (*cluster, view.Snapshot, error) {
	c, err := a.connect()
	if err != nil {
		return nil, view.Snapshot{}, err
	}
	v, err := c.snapshot(ctx, name)
	return c, v, err
}

func (c *cluster) snapshot(ctx context.Context, name string) (view.Snapshot, error) {
	v := view.Snapshot{Manifests: view.Manifests{}}
	var err error
	if v.Package, err = c.pkg(ctx, name); err == nil {
		v.Revisions, err = c.revisions(ctx, name)
	}
	return v, err
}

// find reads a package, and says whether it exists.
func (c *cluster) find(ctx context.Context, name string) (*v1alpha1.Package, bool, error) {
	p := &v1alpha1.Package{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, p)
	if apierrors.IsNotFound(err) && !isMissingKind(err) {
		return nil, false, nil
	}
	return p, err == nil, c.explain("reading package "+name, err)
}

// pkg reads a package. The error for one that does not exist names those that
// do.
func (c *cluster) pkg(ctx context.Context, name string) (*v1alpha1.Package, error) {
	p, exists, err := c.find(ctx, name)
	if err == nil && !exists {
		err = c.notFound(ctx, name)
	}
	return p, err
}

func (c *cluster) packages(ctx context.Context, selector labels.Selector) ([]v1alpha1.Package, error) {
	var list v1alpha1.PackageList
	if err := c.client.List(ctx, &list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, c.explain("listing packages", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Package) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func (c *cluster) notFound(ctx context.Context, names ...string) error {
	missing := "package " + strings.Join(names, ", ")
	all, err := c.packages(ctx, labels.Everything())
	switch {
	case err != nil:
		return exitf(CodeNotFound, "%s: not in the cluster at %s (which there are is not to be read: %w)", missing, c.host, err)
	case len(all) == 0:
		return exitf(CodeNotFound, "%s: not in the cluster at %s, which has no packages", missing, c.host)
	}
	exist := make([]string, len(all))
	for i := range all {
		exist[i] = all[i].Name
	}
	return exitf(CodeNotFound, "%s: not in the cluster at %s; there are: %s", missing, c.host, strings.Join(exist, ", "))
}

func (c *cluster) revisions(ctx context.Context, pkg string) ([]v1alpha1.Revision, error) {
	var list v1alpha1.RevisionList
	if err := c.client.List(ctx, &list, client.MatchingFields{packageField: pkg}); err != nil {
		return nil, c.explain("listing the revisions of package "+pkg, err)
	}
	view.SortRevisions(list.Items)
	return list.Items, nil
}

// revisionNumbered is the revision of a number. The error for one that does not
// exist names those that do.
func revisionNumbered(v view.Snapshot, n int64) (*v1alpha1.Revision, error) {
	exist := make([]string, len(v.Revisions))
	for i := range v.Revisions {
		if v.Revisions[i].Spec.Revision == n {
			return &v.Revisions[i], nil
		}
		exist[i] = view.Number(v.Revisions[i].Spec.Revision)
	}
	if len(exist) == 0 {
		return nil, exitf(CodeNotFound, "package %s has no revisions", v.Package.Name)
	}
	return nil, exitf(CodeNotFound, "package %s has no revision %d; there are: %s", v.Package.Name, n, strings.Join(exist, ", "))
}
