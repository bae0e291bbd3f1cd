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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/check/lint"
	"github.com/strata-run/strata/internal/check/plan"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// outputSARIF is what code hosts show beside the lines of a change.
const outputSARIF outputFormat = "sarif"

type lintOptions struct {
	output           outputFormat
	source           sourceOptions
	name             string
	live             bool
	against          string
	suppress         []string
	threshold        string
	managerNamespace string
}

func (o *lintOptions) validate() error {
	if err := o.source.validate(); err != nil {
		return err
	}
	for _, suppressed := range o.suppress {
		code, _, _ := strings.Cut(suppressed, "=")
		if lint.RuleOf(code).Code == "" {
			return exitf(CodeUsage, "flag --suppress: there is no code %s", code)
		}
	}
	return nil
}

func (a *app) lintCommand() *cobra.Command {
	var o lintOptions
	var rules strings.Builder
	var codes []cobra.Completion
	for _, rule := range lint.Rules() {
		fmt.Fprintf(&rules, "  %s %-7s %s\n", rule.Code, rule.Severity, rule.Name)
		codes = append(codes, describe(rule.Code, rule.Name))
	}
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find what is wrong with manifests or a chart",
		Long: `Find what is wrong with manifests or a chart before they are applied: what
stands there twice, lacks its namespace or is too large; probes that do not
compile or select nothing. With --live also kinds that the cluster does not
serve, and whatever the API server refuses: every object is sent as a dry run,
with you as its author. With --against PACKAGE also what the change from the
package's target would break: fields that cannot be changed,
CustomResourceDefinitions, a content that shrinks.

Each finding has a code that keeps its meaning. --suppress CODE leaves a rule
out, --suppress CODE=OBJECT for one object only ("PKG0101=ConfigMap
app/settings").

` + rules.String() + `
Exit codes: 0 clean; 1 there are findings of --threshold or worse; 2 usage, or a
file cannot be read; 3 a file cannot be parsed; 6 there is no such package; 7 no
cluster answers. Rights needed: none; with --live: to create and patch the
objects; with --against: to get packages and objectslices, to list revisions.`,
		Example: `  strata lint -f manifests/
  strata lint --chart ./web --values production.yaml --against web -o sarif > lint.sarif
  strata lint -f manifests/ --suppress PKG0106 --threshold error`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return a.lint(ctx, o)
		}),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputSARIF, outputJUnit, outputJSONPath)
	o.source.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.name, "package", "package", "the name of the package that the content is for, which a chart sees as its release")
	f.BoolVar(&o.live, "live", false, "ask the cluster which kinds it serves, and send dry runs of every object")
	f.StringVar(&o.against, "against", "", "the package whose target the content is compared with")
	f.StringSliceVar(&o.suppress, "suppress", nil, "a code, or CODE=OBJECT, that does not count; can be given more than once")
	addChoice(cmd, &o.threshold, "threshold", string(lint.Warning), "how bad a finding must be to make the exit code 1: error, warning or note", string(lint.Error), string(lint.Warning), string(lint.Note))
	addManagerNamespace(cmd, &o.managerNamespace)
	complete(cmd, "against", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completePackages(-1)(cmd, nil, prefix)
	})
	complete(cmd, "suppress", cobra.FixedCompletions(codes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) lint(ctx context.Context, o lintOptions) error {
	var err error
	o.source.assumed = o.source.namespace == ""
	if o.source.namespace, err = a.namespaceOr(o.source.namespace); err != nil {
		return err
	}
	in := lint.Input{Package: o.name, Namespace: o.source.namespace, Collisions: v1alpha1.CollisionProtection(o.source.collisions)}
	if err := a.readLocated(o, &in); err != nil {
		return err
	}
	if err := a.askCluster(ctx, o, &in); err != nil {
		return err
	}
	if len(in.Objects) == 0 && len(in.Problems) == 0 {
		return exitf(CodeTerminal, "%s: there is no object in it", cmp.Or(o.source.chart, strings.Join(o.source.files, ", ")))
	}
	findings, err := lint.Check(ctx, in)
	if err != nil {
		return fmt.Errorf("comparing with package %s: %w", o.against, err)
	}
	report := view.BuildLintReport(findings, o.suppress, o.threshold, len(in.Objects))
	if o.output == outputJUnit {
		err = view.WriteLintJUnit(a.Out, report)
	} else {
		err = a.print(o.output, report, func(p *output.Printer) {
			if o.output == outputSARIF {
				p.JSON(view.SarifOf(report))
			} else {
				view.WriteLint(p, report)
			}
		})
	}
	switch {
	case err != nil:
		return err
	case len(in.Problems) > 0:
		return &ExitError{Code: CodeTerminal}
	case report.Failed:
		return &ExitError{Code: CodeFalse}
	}
	return nil
}

func (a *app) askCluster(ctx context.Context, o lintOptions, in *lint.Input) error {
	if !o.live && o.against == "" {
		return nil
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	if o.live {
		// Every API server serves this kind: one that does not answer is not taken for one that
		// serves nothing.
		if _, err := c.client.RESTMapper().RESTMapping(schema.GroupKind{Kind: "Namespace"}); err != nil {
			return c.explain("asking which kinds are served", err)
		}
		in.Scope = c.scope
		in.DryRun = a.dryRun(c)
	}
	if o.against == "" {
		return nil
	}
	return c.readAgainst(ctx, o, in)
}

// dryRun applies a content without effect, as the user of the command.
func (a *app) dryRun(c *cluster) func(context.Context, revisions.Revision) []plan.Attempt {
	return func(ctx context.Context, loaded revisions.Revision) []plan.Attempt {
		all := func(revisions.ObjectID) bool { return true }
		attempts := plan.DryRun{Writer: c.client}.Run(ctx, loaded, all, nil)
		var untried []string
		for i := range attempts {
			if attempt := &attempts[i]; attempt.Untried != "" {
				untried = append(untried, attempt.ID.String()+": "+attempt.Untried)
			}
		}
		if len(untried) > 0 {
			a.note("Note: not tried out at the API server: %s.", view.Some(untried))
		}
		return attempts
	}
}

// readLocated reads what is checked, with the places where it stands. What a chart
// renders has none.
func (a *app) readLocated(o lintOptions, in *lint.Input) error {
	var err error
	if in.Probes, in.Settings, err = o.source.readBeside(); err != nil {
		return err
	}
	if o.source.chart != "" {
		s, err := a.readSource(o.source, o.name)
		var exit *ExitError
		switch {
		case errors.As(err, &exit) && exit.Code == CodeTerminal:
			in.Problems = append(in.Problems, chart.Problem{File: o.source.chart, Err: exit.Err})
			return nil
		case err != nil:
			return err
		}
		a.noteNamespace(o.source, 0)
		for _, object := range s.objects {
			in.Objects = append(in.Objects, chart.Located{Object: object, File: o.source.chart})
		}
		return nil
	}
	files, err := manifestFiles(o.source.files, a.In)
	if err != nil {
		return err
	}
	for _, file := range files {
		objects, problems := chart.Locate(file.name, file.data)
		in.Objects, in.Problems = append(in.Objects, objects...), append(in.Problems, problems...)
	}
	return nil
}

// readAgainst loads the target of the package that the content is compared with.
// Manifests of kind Secret are compared too if they may be read.
func (c *cluster) readAgainst(ctx context.Context, o lintOptions, in *lint.Input) error {
	v, err := c.snapshot(ctx, packageName(o.against))
	if err != nil {
		return err
	}
	pkg, target := v.Package, history.Sort(v.Package, v.Revisions).Target
	if target == nil {
		return exitf(CodeNotFound, "package %s has no active revision to compare with", pkg.Name)
	}
	loaded, err := content.LoadRevision(ctx, c.contents(o.managerNamespace), target)
	if err != nil {
		return c.explain(fmt.Sprintf("reading revision %d of package %s", target.Spec.Revision, pkg.Name), err)
	}
	in.Against, in.Owner = &loaded, pkg
	return nil
}
