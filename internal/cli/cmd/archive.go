// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

func (a *app) archiveCommand() *cobra.Command {
	var o writeFlags
	cmd := &cobra.Command{
		Use:   "archive PACKAGE REVISION",
		Short: "Give up a rollout: make a revision history without replacing it",
		Long: `Make a revision history: what no other active revision contains is deleted, in
reverse order of the phases. That gives up a rollout that is under way, or one
that waits; the current revision is then the target again. Archived is final. To
bring earlier content back as a new revision, use rollback.

The current revision, which is what runs, is refused: roll back, or delete the
package.

Exit codes: 0 it is archived, or was; 2 usage; 3 refused; 5 the revision was
changed meanwhile; 6 there is no such package or revision; 7 no cluster answers.

Rights: get packages.strata.run; list and patch revisions.strata.run; get
objectslices.strata.run.`,
		Example: `  strata archive istiod-openshift-gateway 4`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("a package and the number of one of its revisions are required: `strata history PACKAGE` lists them")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return a.completeRevisions(cmd, args, prefix)
			}
			return a.completePackages(1)(cmd, args, prefix)
		},
		RunE: a.run(func(ctx context.Context, args []string) error {
			n, err := strconv.ParseInt(strings.TrimPrefix(args[1], packageName(args[0])+"-"), 10, 64)
			if err != nil || n < 1 {
				return exitf(CodeUsage, "%q is not a revision: give its number, such as 4", args[1])
			}
			return a.archive(ctx, o, packageName(args[0]), n)
		}),
	}
	o.add(cmd)
	return cmd
}

func (a *app) archive(ctx context.Context, o writeFlags, name string, n int64) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	r, err := revisionNumbered(v, n)
	if err != nil {
		return err
	}
	receipt := o.receipt("archive", name, n)
	if view.LifecycleOf(r) == v1alpha1.LifecycleArchived {
		receipt.Message = fmt.Sprintf("Revision %d of package %s is archived already.", n, name)
		return a.printReceipt(o, receipt)
	}
	current := history.Sort(v.Package, v.Revisions).Current
	if current == r {
		return exitf(CodeTerminal, "revision %d is what runs: `strata rollback %s` replaces it, `strata delete %s` takes the operand away", n, name, name)
	}
	if receipt.Changes, err = c.changesOfArchiving(ctx, v, r, current); err != nil {
		return err
	}
	receipt.Changed = true
	receipt.Message = fmt.Sprintf("Revision %d of package %s is archived.", n, name)
	p := a.text(o.output)
	p.Wrapped("", output.Plain, fmt.Sprintf("Archiving revision %s of %s:", view.WithVersion(n, view.VersionOf(r)), name))
	view.WriteChanges(p, receipt.Changes, 0)
	if pause := v.Package.Spec.Paused; pause != nil {
		a.note("Note: %s is %s; nothing is deleted until it is resumed.", name, view.PauseText(pause))
	}
	if err := a.ask(o, "Go on?"); err != nil {
		return err
	}
	if err := c.setLifecycle(ctx, r, v1alpha1.LifecycleArchived, nil, "archiving", o); err != nil {
		return err
	}
	return a.printReceipt(o, receipt)
}

// changesOfArchiving are what becomes of the objects that a revision has in place:
// those of the current one go back, others go unless another revision has them.
func (c *cluster) changesOfArchiving(ctx context.Context, v view.Snapshot, r, current *v1alpha1.Revision) ([]view.Change, error) {
	needed := []*v1alpha1.Revision{r}
	for i := range v.Revisions {
		if other := &v.Revisions[i]; other != r && view.LifecycleOf(other) != v1alpha1.LifecycleArchived {
			needed = append(needed, other)
		}
	}
	if err := c.readSlices(ctx, v.Manifests, needed...); err != nil {
		return nil, exitf(CodeFalse, "looking at what would be deleted: %w", err)
	}
	placed, kept := map[revisions.ObjectID]bool{}, map[revisions.ObjectID]bool{}
	for _, entry := range r.Status.Inventory {
		placed[view.IdentityOf(entry.ObjectReference)] = true
	}
	for _, other := range needed[1:] {
		for _, it := range slices.Concat(view.ItemsOf(other, v.Manifests)...) {
			kept[view.IdentityOf(it.Ref)] = true
		}
	}
	if current == nil {
		current = &v1alpha1.Revision{}
	}
	changes, _ := view.ChangesBetween(r, current, v.Manifests)
	return slices.DeleteFunc(changes, func(change view.Change) bool {
		id := view.IdentityOf(change.ObjectReference)
		return !placed[id] || change.Action == view.ChangeDelete && kept[id]
	}), nil
}
