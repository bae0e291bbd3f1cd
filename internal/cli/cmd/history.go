// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

type historyOptions struct {
	output           outputFormat
	revision         int64
	managerNamespace string
}

func (a *app) historyCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history PACKAGE",
		Short: "List the revisions of a package: who, when, what, why, how it went",
		Long: `List the revisions of a package that are kept, oldest first.

The current revision is the newest that has succeeded. The target is the one
that rolls out; it is marked when it is not the current one. OUTCOME is
Succeeded, RolledBack (a rollback rejected it), Superseded (replaced before it
had succeeded), or what the rollout does at present.

WHO made the revision, or asked for the rollback; "manager" is for one that the
manager made by itself, for a front or for spec.onFailure. With the policies of
config/policy the API server has checked the name. CHANGES is what differs from
the revision before.

--revision shows one revision: who approved it, each field that differs, and its
objects by phase. -o wide adds columns, such as how long the rollout took.

Exit codes: 0; 2 usage; 6 there is no such package or revision; 7 no cluster
answers.

Rights: get packages.strata.run; list revisions.strata.run; get
objectslices.strata.run, without it CHANGES may be missing; for the fields of
manifests of kind Secret with --revision, to get Secrets in the manager's
namespace.`,
		Example: `  strata history istiod-openshift-gateway
  strata history istiod-openshift-gateway -o wide
  strata history istiod-openshift-gateway --revision 2`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if o.revision > 0 {
			return a.historyOfOne(ctx, o, name)
		}
		return a.history(ctx, o, name)
	})
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	a.addRevision(cmd, &o.revision, "revision", "show this revision alone")
	addManagerNamespace(cmd, &o.managerNamespace)
	return cmd
}

func (a *app) history(ctx context.Context, o historyOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	h := v.History()
	if o.output != outputName {
		// Secrets are not read: the names of what they are stored in are digests.
		read, err := newReader(c.contents(o.managerNamespace), noSecrets).readEach(ctx, v.Revisions)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("Note: not all changes are known: %v", err)
		}
		h.CompareEach(v.Revisions, read)
	}
	return a.print(o.output, h, func(p *output.Printer) {
		if len(h.Revisions) == 0 {
			a.note("Package %s has no revisions yet.", name)
			return
		}
		view.WriteHistory(p, h, o.output == outputWide, a.now())
	})
}

func (a *app) historyOfOne(ctx context.Context, o historyOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	r, err := revisionNumbered(v, o.revision)
	if err != nil {
		return err
	}
	a.readDetails(ctx, c, &v, []*v1alpha1.Revision{r})
	d := v.RevisionDetails(r)
	if before := view.RevisionBefore(r, v.Revisions); before != nil {
		if err := c.compareOne(ctx, o, &d, before, r); err != nil {
			return err
		}
	}
	return a.print(o.output, d, func(p *output.Printer) { view.WriteRevisionDetails(p, d, a.now()) })
}

func (c *cluster) compareOne(ctx context.Context, o historyOptions, d *view.RevisionDetails, before, after *v1alpha1.Revision) error {
	options := diffOptions{managerNamespace: o.managerNamespace, Comparison: view.Comparison{Context: 3, Options: diff.Options{Ignore: view.NoisePatterns()}}}
	doc, result, err := c.compareRevisions(ctx, options, before, after)
	if err != nil {
		return err
	}
	d.Diff, d.Revision.ComparedWith, d.Revision.Changes = &doc, before.Spec.Revision, view.ChangesText(before, after, result)
	return nil
}
