// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/plan"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

type planOptions struct {
	output           outputFormat
	source           sourceOptions
	managerNamespace string
	skipRights       bool
	exitCode         bool
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan NAME",
		Short: "Show what applying manifests or a chart would do, object by object",
		Long: `Show what applying manifests or a chart as the package NAME would do, object by
object: create, update with the fields that change, adopt, collide, replace,
delete (once the revision has succeeded), retain. What is written is tried out
at the API server with dry runs; a field that it does not know counts as
refused. The plan also says what would block the revision before its first
write: rights that the package's identity lacks, fields that cannot be changed,
unsafe changes of CustomResourceDefinitions, a content that has shrunk; and how
large it is. Nothing is written. The engine and the checks are the controller's
own.

The rights are those of the package's ServiceAccount, or of the manager. To ask
for them takes the right to impersonate that account; without it they are left
out, and the plan says so. The dry runs are sent as that account, too, or as
you.

Exit codes: 0 nothing stands against it; with --exit-code: 1 something would
change; 2 usage, or a file cannot be read; 3 the content cannot be used,
collides, would be refused or blocked; 7 no cluster answers. Rights needed: to
get and list packages and revisions, to get the objects, and to create and patch
them or to impersonate the account; for Secrets in the content, to get Secrets
in the manager's namespace.`,
		Example: `  strata plan web -f manifests/
  strata plan web --chart ./web-1.2.3.tgz --values production.yaml
  strata plan web -f manifests/ -o json`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if err := o.source.validate(); err != nil {
			return err
		}
		return a.plan(ctx, o, name)
	})
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	o.source.add(cmd)
	addManagerNamespace(cmd, &o.managerNamespace)
	cmd.Flags().BoolVar(&o.skipRights, "skip-rights", false, "do not ask for the rights of the package's identity")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with code 1 when something would change")
	return cmd
}

type proposal struct {
	view.Planned

	source source
}

func (a *app) plan(ctx context.Context, o planOptions, name string) error {
	s, err := a.readSource(o.source, name)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	proposed, err := a.propose(ctx, c, s, name, o.managerNamespace, o.skipRights)
	if err != nil {
		return err
	}
	doc := proposed.Document()
	err = a.print(o.output, doc, func(p *output.Printer) {
		if o.output == outputWide {
			view.WritePlanTable(p, doc)
		} else {
			view.WritePlanObjects(p, doc)
		}
		view.WritePlanNotes(p, doc)
	})
	switch {
	case err != nil:
		return err
	case doc.IsBlocked():
		return &ExitError{Code: CodeTerminal}
	case o.exitCode && len(doc.Objects) > 0:
		return &ExitError{Code: CodeFalse}
	}
	return nil
}

func (a *app) propose(ctx context.Context, c *cluster, s source, name, managerNamespace string, skipRights bool) (*proposal, error) {
	p := &proposal{source: s}
	if err := p.readHistory(ctx, c, name, ""); err != nil {
		return nil, err
	}
	phases, unknown, err := p.source.phases(c)
	if err != nil {
		return nil, err
	}
	s = p.source
	a.noteUnknown(unknown, false)
	a.noteNamespace(s.options, s.homeless)
	// A plan writes nothing, so it does not make the key for Secrets either.
	if p.Packed, err = packWith(ctx, c, phases, s.probes, managerNamespace); err != nil {
		return nil, err
	}
	return p, a.planNext(ctx, c, p, contentOf(s, p.Packed), managerNamespace, skipRights)
}

// planNext plans the next revision, with content that was packed.
func (a *app) planNext(ctx context.Context, c *cluster, p *proposal, of history.Content, managerNamespace string, skipRights bool) error {
	p.Need = p.History.NeedFor(p.Package, of.Digest)
	p.Next = p.History.Next(p.Package, of)
	planner := c.planner(plan.Overlay{Packed: p.Packed, Stored: c.contents(managerNamespace)})
	if !skipRights {
		as, name, err := a.identity(ctx, c, p.Package, managerNamespace)
		if err != nil {
			return err
		}
		if as != nil {
			planner.Identity, p.Identity = &plan.Identity{Live: as, Asker: as}, name
		}
	}
	var err error
	p.Plan, err = planner.Plan(ctx, p.Package, p.History, p.Next)
	return c.explain("planning package "+p.Package.Name, err)
}

func (c *cluster) planner(stored content.Stored) plan.Planner {
	return plan.Planner{Live: c.client, Writer: c.client, Mapper: c.client.RESTMapper(), Stored: stored}
}

// readHistory reads the package and its revisions. One that does not exist is planned as
// new. It has to be of the front that is named, empty for none.
func (p *proposal) readHistory(ctx context.Context, c *cluster, name, owner string) error {
	pkg, exists, err := c.find(ctx, name)
	if err != nil {
		return err
	}
	if !exists {
		p.Package = &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.FinalizerTeardown}}}
		return nil
	}
	p.Package, p.Exists = pkg, true
	all, err := c.revisions(ctx, name)
	if err != nil {
		return err
	}
	p.History = history.Sort(pkg, all)
	if !pkg.DeletionTimestamp.IsZero() {
		return exitf(CodeTerminal, "package %s is being deleted: wait until it is gone", name)
	}
	switch front := pkg.Labels[v1alpha1.LabelFront]; {
	case owner != "" && front != owner:
		return exitf(CodeTerminal, "package %s exists and is not of the front %s: delete or rename it", name, owner)
	case owner == "" && front != "":
		return exitf(CodeTerminal, "package %s is made by the front %s, which would replace the content at once: change its custom resource instead", name, front)
	}
	return nil
}

// identity is a client that acts as the package's ServiceAccount, or the manager's,
// and the account's name; nil when the user of the command may not do so.
func (a *app) identity(ctx context.Context, c *cluster, pkg *v1alpha1.Package, managerNamespace string) (client.Client, string, error) {
	account := v1alpha1.ServiceAccountReference{Namespace: managerNamespace, Name: managerName}
	if pkg.Spec.ServiceAccount != nil {
		account = *pkg.Spec.ServiceAccount
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	as, err := client.New(config, client.Options{Scheme: c.client.Scheme(), Mapper: c.client.RESTMapper()})
	if err != nil {
		return nil, "", fmt.Errorf("acting as ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	may, err := plan.MayImpersonate(ctx, as)
	if err != nil {
		return nil, "", c.explain("asking for rights", err)
	}
	if !may {
		return nil, "", nil
	}
	return as, config.Impersonate.UserName, nil
}

// packWith packs content as the cluster would have it, and writes nothing: where the
// cluster has no key for Secrets yet, another one stands in, as no digest can be equal
// to any there is.
func packWith(ctx context.Context, c *cluster, phases []content.Phase, probes []v1alpha1.Probe, managerNamespace string) (content.Packed, error) {
	contents := &content.Store{Client: client.NewDryRunClient(c.client), Live: c.client, Namespace: managerNamespace}
	packed, err := contents.Pack(ctx, phases, probes)
	if apierrors.IsNotFound(err) {
		packed, err = content.Packer{Key: offlineKey()}.Pack(phases, probes)
	}
	switch {
	case apierrors.IsForbidden(err):
		return packed, exitf(CodeFalse, "the content contains Secrets, and requires the right to get Secrets in namespace %s, where they are kept: %w", managerNamespace, err)
	case apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return packed, c.explain("reading the key for Secrets", err)
	case err != nil:
		return packed, exitf(CodeTerminal, "packing the content: %w", err)
	}
	return packed, nil
}
