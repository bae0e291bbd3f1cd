// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/helmimport"
	"github.com/strata-run/strata/internal/history"
)

type importHelmOptions struct {
	rolloutFlags

	namespace        string
	pkg              string
	managerNamespace string
	secrets          string
	crds             bool
	restarts         bool
	takeOver         bool
}

func (o *importHelmOptions) fate() helmimport.Fate { return helmimport.Fate(o.secrets) }

func (o *importHelmOptions) check() error {
	if o.fate() == helmimport.FateDelete && !o.wait && !o.isDry() {
		return exitf(CodeUsage, "--release-secrets=delete needs --wait: they are deleted when the import has succeeded")
	}
	if err := helmimport.CheckName(o.pkg); err != nil {
		return exitf(CodeUsage, "%w: choose another (--package)", err)
	}
	return o.validate()
}

func (a *app) importHelmCommand() *cobra.Command {
	var o importHelmOptions
	cmd := &cobra.Command{
		Use:   "import-helm RELEASE",
		Short: "Make a package of a Helm release, without restarting a pod",
		Long: `Make a package of what a Helm release has installed. The newest version that is
deployed becomes revision 1: its objects are adopted as they are, and those that
are missing are created. What would be done is shown first, and has to be
confirmed; --dry-run=client only shows it.

Hooks are not part of the revision, nor are Jobs that are gone, and the chart's
folder crds/ only with --include-crds. Replicas that a HorizontalPodAutoscaler
sets are left to it. An object that differs from the release is set back to it;
where that would start or stop pods the import is refused without
--allow-restarts. Objects that another owner has are refused without
--take-over.

The Secrets that Helm keeps the release in are kept as they are by default: then
Helm still knows the release, and a later "helm upgrade" or "helm uninstall"
would change or delete the objects behind the package. With
--release-secrets=handover Helm does not see them any more and they go with the
package; with delete they are deleted once the import has succeeded.

Exit codes: 0 the revision was made, or had been before, with --wait: rolled
out; 2 usage; 3 refused, or with --wait: it cannot succeed; 4 with --wait: the
time was over; 6 there is no such release; 7 no cluster answers.

Rights: list and get secrets and list horizontalpodautoscalers.autoscaling in
the release's namespace; get and patch the objects of the release; create
packages.strata.run, revisions.strata.run and objectslices.strata.run; for a
release with Secrets get and create secrets in the manager's namespace; to hand
over or delete the release's Secrets, patch or delete them.`,
		Example: `  strata import-helm web -n shop --dry-run=client
  strata import-helm web -n shop --release-secrets=handover --wait --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("the name of one Helm release is required: `helm list` shows them")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, args []string) error {
			if o.pkg == "" {
				o.pkg = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			return a.importHelm(ctx, o, args[0])
		}),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *importHelmOptions) addFlags(cmd *cobra.Command) {
	o.add(cmd)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "the namespace of the release; empty is that of the kubeconfig's context")
	cmd.Flags().StringVar(&o.pkg, "package", "", "the name of the package; empty is that of the release")
	addChoice(cmd, &o.secrets, "release-secrets", string(helmimport.FateKeep), "what becomes of the Secrets that Helm keeps the release in: keep, handover or delete",
		string(helmimport.FateKeep), string(helmimport.FateHandover), string(helmimport.FateDelete))
	cmd.Flags().BoolVar(&o.crds, "include-crds", false, "also take the chart's folder crds/, which Helm creates and then never looks at; they are retained")
	cmd.Flags().BoolVar(&o.restarts, "allow-restarts", false, "continue although pods are started or stopped")
	cmd.Flags().BoolVar(&o.takeOver, "take-over", false, "also take objects that another owner has")
	cmd.Flags().StringVar(&o.managerNamespace, "manager-namespace", defaultManagerNamespace, "the manager's namespace, where manifests of kind Secret are stored")
}

func (a *app) importHelm(ctx context.Context, o importHelmOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	if o.namespace, err = a.namespaceOr(o.namespace); err != nil {
		return err
	}
	im := &helmimport.Importer{Client: c.client, Contents: &content.Store{Client: c.client, Live: c.client, Namespace: o.managerNamespace, Now: a.now}}
	doc := view.HelmImport{TypeMeta: view.DocumentType("HelmImport"), Package: o.pkg, DryRun: o.dryRun, Secrets: view.ReleaseSecrets{Fate: o.secrets, Names: []string{}}}
	choice, err := im.Choose(ctx, o.namespace, name)
	if notFound, ok := errors.AsType[*helmimport.NotFoundError](err); ok {
		// Its Secrets may be handed over already.
		made, standingErr := im.Standing(ctx, o.pkg, o.namespace, name, 0)
		if standingErr != nil || made == nil {
			return exitf(CodeNotFound, "%w", notFound)
		}
		return a.finishImported(ctx, c, o, doc, made)
	}
	if err != nil {
		return c.explainImport(err)
	}
	doc.Choose(choice)
	made, err := im.Standing(ctx, o.pkg, o.namespace, name, choice.Release.Version)
	if err != nil {
		return c.explainImport(err)
	}
	if made == nil {
		return a.importNew(ctx, c, im, o, doc, choice)
	}
	if !o.isDry() {
		if err := a.settle(ctx, c, im, o, doc); err != nil {
			return err
		}
	}
	return a.finishImported(ctx, c, o, doc, made)
}

func (a *app) importNew(ctx context.Context, c *cluster, im *helmimport.Importer, o importHelmOptions, doc view.HelmImport, choice helmimport.Choice) error {
	plan, err := im.Plan(ctx, choice, o.crds)
	if err != nil {
		return c.explainImport(err)
	}
	doc.Fill(plan)
	allowed := helmimport.Permissions{Restarts: o.restarts, TakeOver: o.takeOver}
	doc.Refusals = plan.Refusals(allowed)
	p := a.text(o.output)
	view.WriteImport(p, doc)
	if len(doc.Refusals) > 0 {
		return cmp.Or(a.end(o.output, p, doc), exitf(CodeTerminal, "the import is refused:\n%s", strings.Join(doc.Refusals, "\n")))
	}
	if err := a.ask(o.writeFlags, "Go on?"); err != nil {
		return err
	}
	if o.dryRun != dryRunClient {
		revision, err := im.Import(ctx, plan, helmimport.Settings{
			Permissions: allowed, Package: o.pkg, Reason: o.reason, Fate: o.fate(), DryRun: o.dryRun == dryRunServer, CreatedBy: a.whoAmI(ctx, c),
		})
		if err != nil {
			return c.explainImport(err)
		}
		if revision != nil {
			doc.Revision = revision.Spec.Revision
		}
	}
	if o.fate() == helmimport.FateHandover && !o.isDry() {
		if err := im.Settle(ctx, o.namespace, doc.Secrets.Names, o.pkg, o.fate()); err != nil {
			return c.explainImport(err)
		}
	}
	o.outcome(p, "Package %s is made; revision %d adopts the objects.", o.pkg, doc.Revision)
	if err := a.followImport(ctx, c, p, o, doc); err != nil || o.fate() != helmimport.FateDelete || o.isDry() {
		return err
	}
	return a.settle(ctx, c, im, o, doc)
}

// followImport waits for revision 1, if asked to, and writes the document, if that is
// asked for.
func (a *app) followImport(ctx context.Context, c *cluster, p *output.Printer, o importHelmOptions, doc view.HelmImport) error {
	var err error
	doc.Rollout, err = a.follow(ctx, c, p, o.rolloutFlags, o.pkg, 1)
	return cmp.Or(a.end(o.output, p, doc), err)
}

// settle does with the release's Secrets what is to be done. They are deleted only
// once the revision has succeeded.
func (a *app) settle(ctx context.Context, c *cluster, im *helmimport.Importer, o importHelmOptions, doc view.HelmImport) error {
	if o.fate() == helmimport.FateDelete {
		v, err := c.snapshot(ctx, o.pkg)
		if err != nil {
			return err
		}
		first, err := revisionNumbered(v, 1)
		if err != nil {
			return err
		}
		if !history.Succeeded(first) {
			return exitf(CodeFalse, "revision 1 of package %s has not succeeded: the Secrets of the Helm release are left as they are", o.pkg)
		}
	}
	if err := im.Settle(ctx, o.namespace, doc.Secrets.Names, o.pkg, o.fate()); err != nil {
		return c.explainImport(err)
	}
	if o.fate() != helmimport.FateKeep {
		a.note("Helm has no release %s/%s any more.", o.namespace, doc.Release.Name)
	}
	return nil
}

func (a *app) finishImported(ctx context.Context, c *cluster, o importHelmOptions, doc view.HelmImport, made *v1alpha1.Revision) error {
	doc.Revision, doc.AlreadyImported = made.Spec.Revision, true
	p := a.text(o.output)
	p.Wrapped("", output.Plain, fmt.Sprintf("Package %s is imported already: revision %d, %s.", o.pkg, made.Spec.Revision, made.Spec.Origin.Reason))
	return a.followImport(ctx, c, p, o, doc)
}

func (c *cluster) explainImport(err error) error {
	if refused, ok := errors.AsType[*helmimport.RefusedError](err); ok {
		return exitf(CodeTerminal, "%w", refused)
	}
	return c.explain("importing the Helm release", err)
}
