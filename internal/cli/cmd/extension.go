// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/front"
)

// inquire asks a front what it would publish for a resource. Without registries the bundle is not
// rendered, and only the resolution counts.
func (a *app) inquire(ctx context.Context, c *cluster, of front.Registration, o registryOptions, resource client.Object, renders bool) (front.Proposal, error) {
	reader, err := c.forFront(of)
	if err != nil {
		return front.Proposal{}, err
	}
	contents, err := a.newContents(o, c.config)
	if err != nil {
		return front.Proposal{}, err
	}
	defer contents.close()
	in := front.Inquiry{
		Reader: reader, Mapper: reader.RESTMapper(), Version: c.kubernetes,
		Content: func(ctx context.Context, is front.Catalog) (*catalog.Content, error) { return contents.of(ctx, is) },
	}
	if renders {
		in.Registries = contents.registries
		if in.Scratch, err = os.MkdirTemp(contents.work, ""); err != nil {
			return front.Proposal{}, fmt.Errorf("making a folder for the bundle: %w", err)
		}
	}
	proposal, err := of.Extensions.Propose(ctx, in, resource)
	return proposal, c.explain("resolving "+of.Kind.Kind+" "+resource.GetName(), err)
}

// kubernetes is the version of the cluster.
func (c *cluster) kubernetes(context.Context) (string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return "", err
	}
	is, err := d.ServerVersion()
	if err != nil {
		return "", err
	}
	return is.GitVersion, nil
}

// extension reads a resource of a front.
func (c *cluster) extension(ctx context.Context, of front.Registration, name string) (client.Object, error) {
	reader, err := c.forFront(of)
	if err != nil {
		return nil, err
	}
	resource := of.Extensions.Resource()
	err = reader.Get(ctx, client.ObjectKey{Name: name}, resource)
	switch {
	case err == nil:
		return resource, nil
	case isMissingKind(err):
		return nil, exitf(CodeNotFound, "the cluster at %s has no %ss: their definition is not installed", c.host, of.Kind.Kind)
	case client.IgnoreNotFound(err) == nil:
		names, _ := c.extensions(ctx, of)
		return nil, exitf(CodeNotFound, "%s %s: not in the cluster at %s; there are: %s", of.Kind.Kind, name, c.host, strings.Join(names, ", "))
	}
	return nil, c.explain("reading "+of.Kind.Kind+" "+name, err)
}

// extensions are the names of the resources of a front.
func (c *cluster) extensions(ctx context.Context, of front.Registration) ([]string, error) {
	reader, err := c.forFront(of)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(of.Kind.GroupVersion().WithKind(of.Kind.Kind + "List"))
	if err := reader.List(ctx, list); err != nil {
		return nil, c.explain("listing the "+of.Kind.Kind+"s", err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	return names, nil
}

// completeExtensions completes the name of a resource of a front.
func (a *app) completeExtensions(of front.Registration) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (found []cobra.Completion, directive cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := completionContext(cmd)
		defer cancel()
		if c, err := a.connect(); err == nil {
			names, _ := c.extensions(ctx, of) // without any nothing is completed
			for _, name := range names {
				if strings.HasPrefix(name, prefix) {
					found = append(found, describe(name))
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// packageOfExtension stands for the package that a resource of a front does not have yet, so that it can
// be explained. Without such a resource the error is returned that there is no package.
func (c *cluster) packageOfExtension(ctx context.Context, name string, missing error) (*v1alpha1.Package, error) {
	of, found := extensionsFront()
	if !found {
		return nil, missing
	}
	if _, err := c.extension(ctx, of, name); err != nil {
		return nil, missing
	}
	return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1alpha1.LabelFront: of.Name}, Annotations: map[string]string{v1alpha1.AnnotationFrontGroup: name},
	}}, nil
}

// resolvePatience is how long an explanation waits for catalogs.
const resolvePatience = 20 * time.Second

// addResolution adds to an explanation which bundle the resource gets that a package is of, if a front for
// extensions has made that.
func (a *app) addResolution(ctx context.Context, c *cluster, registries registryOptions, pkg *v1alpha1.Package, e *view.Explanation) {
	of, found := extensionsFront()
	group := pkg.Annotations[v1alpha1.AnnotationFrontGroup]
	if !found || of.Name != pkg.Labels[v1alpha1.LabelFront] || !pkg.DeletionTimestamp.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	resource, err := c.extension(ctx, of, group)
	if err == nil {
		var proposal front.Proposal
		proposal, err = a.inquire(ctx, c, of, registries, resource, false)
		e.Resolution = &proposal.Resolution
		if pkg.UID == "" {
			e.Message, e.NextTry = "it has no package yet", ""
			if blocked := proposal.Package.Blocked; blocked != proposal.Resolution.Message {
				e.Message += view.Prefixed(": ", blocked)
			}
			e.Next = []view.NextCommand{{Command: "strata extension plan " + group, Why: "see each bundle that was left out, and why"}}
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the catalogs could not be read in %s: strata extension plan %s waits for them", resolvePatience, group)
	}
	if err != nil {
		e.Resolution = nil
		e.Unread = append(e.Unread, "which bundle it gets: "+err.Error())
	}
}
