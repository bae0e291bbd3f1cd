// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/history"
)

type extensionPlanOptions struct {
	registryOptions

	output           outputFormat
	file             string
	managerNamespace string
	skipRights       bool
	exitCode         bool
}

func (a *app) extensionPlanCommand(of front.Registration) *cobra.Command {
	var o extensionPlanOptions
	cmd := &cobra.Command{
		Use:   "plan [NAME]",
		Short: "Show which bundle an extension gets, why, and what that changes",
		Long: `Show which bundle the ClusterExtension NAME gets now, or the one in a file that
is not created yet: from which catalog and channel, why it may follow on what is
installed, and by which rule others were left out. Then what the revision with
it would change, object by object, and what would block it, as strata plan does:
also the rights that the extension's ServiceAccount lacks.

The decision is that of the manager's own code. Catalogs are read as strata
catalog search reads them, and the image of the bundle is pulled with the logins
of your machine. Nothing is written.

Exit codes: 0 nothing stands against it; with --exit-code: 1 something would
change; 2 usage, or the file cannot be read; 3 no bundle can be installed, or
its objects collide, would be refused or blocked; 6 there is no such
ClusterExtension; 7 no cluster answers. Rights: get clusterextensions and list
clustercatalogs, both of olm.operatorframework.io; list packages and revisions;
get customresourcedefinitions, namespaces and serviceaccounts; those of strata
catalog search and strata plan.`,
		Example: `  strata extension plan argocd
  strata extension plan -f extension.yaml
  strata extension plan argocd -o wide`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (o.file != "") {
				return errors.New("give the name of a ClusterExtension, or a file with --filename")
			}
			return nil
		},
		ValidArgsFunction: a.completeExtensions(of),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.extensionPlan(ctx, of, o, args)
		}),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	f := cmd.Flags()
	f.StringVarP(&o.file, "filename", "f", "", "a file with a ClusterExtension, or - for stdin")
	f.BoolVar(&o.skipRights, "skip-rights", false, "do not ask for the rights of the extension's identity")
	f.BoolVar(&o.exitCode, "exit-code", false, "end with code 1 when something would change")
	o.add(cmd)
	addManagerNamespace(cmd, &o.managerNamespace)
	return cmd
}

func (a *app) extensionPlan(ctx context.Context, of front.Registration, o extensionPlanOptions, args []string) error {
	resource, err := a.readExtension(of, o.file)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	if o.file == "" {
		if resource, err = c.extension(ctx, of, args[0]); err != nil {
			return err
		}
	}
	if !resource.GetDeletionTimestamp().IsZero() {
		return exitf(CodeTerminal, "%s %s is being deleted", of.Kind.Kind, resource.GetName())
	}
	proposal, err := a.inquire(ctx, c, of, o.registryOptions, resource, true)
	if err != nil {
		return err
	}
	doc := view.ExtensionPlan{TypeMeta: view.DocumentType("ExtensionPlan"), Resolution: proposal.Resolution, Warnings: proposal.Warnings, Blocked: proposal.Package.Blocked}
	switch {
	case proposal.Resolution.Outcome == "Kept":
		doc.Blocked = "" // what is installed is what was asked for
	case doc.Blocked == "":
		planned, err := a.proposeExtension(ctx, c, proposal, o)
		if err != nil {
			return err
		}
		doc.Plan = &planned
	}
	err = a.print(o.output, doc, func(p *output.Printer) { view.WriteExtensionPlan(p, doc, o.output == outputWide) })
	switch {
	case err != nil:
		return err
	case doc.IsBlocked():
		return &ExitError{Code: CodeTerminal}
	case o.exitCode && doc.Plan != nil && len(doc.Plan.Objects) > 0:
		return &ExitError{Code: CodeFalse}
	}
	return nil
}

// readExtension reads a resource from a file, an empty one without a file.
func (a *app) readExtension(of front.Registration, file string) (client.Object, error) {
	resource := of.Extensions.Resource()
	if file == "" {
		return resource, nil
	}
	files, err := manifestFiles([]string{file}, a.In)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, exitf(CodeUsage, "flag --filename: %s has %d files, and one is wanted", file, len(files))
	}
	if err := yaml.UnmarshalStrict(files[0].data, resource); err != nil {
		return nil, exitf(CodeUsage, "reading %s: %w", file, err)
	}
	if kind := resource.GetObjectKind().GroupVersionKind(); kind != of.Kind || resource.GetName() == "" {
		return nil, exitf(CodeUsage, "reading %s: it has no %s of %s with a name", file, of.Kind.Kind, of.Kind.GroupVersion())
	}
	return resource, nil
}

// proposeExtension says what the package of a proposal would change.
func (a *app) proposeExtension(ctx context.Context, c *cluster, is front.Proposal, o extensionPlanOptions) (view.Plan, error) {
	p := &proposal{}
	if err := p.readHistory(ctx, c, is.Package.Name, is.Owner.Front); err != nil {
		return view.Plan{}, err
	}
	if !p.Exists {
		p.Package.Labels = map[string]string{v1alpha1.LabelFront: is.Owner.Front}
		p.Package.Annotations = map[string]string{v1alpha1.AnnotationFrontGroup: is.Owner.Group}
	} else if group := p.Package.Annotations[v1alpha1.AnnotationFrontGroup]; group != is.Owner.Group {
		return view.Plan{}, exitf(CodeTerminal, "package %s exists and is not of %s (its annotation %s is %q): delete or rename it", is.Package.Name, is.Owner.Group, v1alpha1.AnnotationFrontGroup, group)
	}
	front.SetSettings(p.Package, is.Package.Settings)
	of := history.Content{Probes: is.Package.Probes, Origin: is.Package.Origin, Labels: is.Package.Labels, Annotations: is.Package.Annotations}
	var err error
	if p.Packed, err = packWith(ctx, c, is.Package.Phases, is.Package.Probes, o.managerNamespace); err != nil {
		return view.Plan{}, err
	}
	p.Packed.Digest = content.Identified(p.Packed.Digest, is.Package.Origin.Identity)
	if is.Package.MayShrink {
		metav1.SetMetaDataAnnotation(&p.Package.ObjectMeta, v1alpha1.AnnotationAllowPrune, p.Packed.Digest)
	}
	of.Phases, of.Digest = p.Packed.Phases, p.Packed.Digest
	if err := a.planNext(ctx, c, p, of, o.managerNamespace, o.skipRights); err != nil {
		return view.Plan{}, fmt.Errorf("planning the revision: %w", err)
	}
	return p.Document(), nil
}
