// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

func (a *app) statsCommand() *cobra.Command {
	var o outputFormat
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count packages by state; slow rollouts, pauses, size of history",
		Long: `Show all packages of the cluster at a glance: how many are in which state, which
do not serve, have failed or are paused and why, the rollouts that took longest,
and how much room the history takes.

Exit codes: 0; 2 usage; 6 Strata is not installed; 7 no cluster answers.

Rights: list packages.strata.run and revisions.strata.run; as far as you may,
list objectslices.strata.run.`,
		Example: `  strata stats
  strata stats -o jsonpath='{.states.RolledOut}'`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.stats(ctx, o) }),
	}
	addOutput(cmd, &o, outputJSON, outputYAML, outputJSONPath)
	return cmd
}

func (a *app) stats(ctx context.Context, o outputFormat) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	packages, err := c.packages(ctx, labels.Everything())
	if err != nil {
		return err
	}
	var revisions v1alpha1.RevisionList
	if err := c.client.List(ctx, &revisions); err != nil {
		return c.explain("listing revisions", err)
	}
	s := view.BuildStats(packages, revisions.Items, a.now())
	if err := c.addSlices(ctx, &s); err != nil {
		a.note("Note: the size of ObjectSlices is not counted: %s", err)
		s.Slices = -1
	}
	return a.print(o, s, func(p *output.Printer) { view.WriteStats(p, s) })
}

// addSlices adds the slices, read in parts: there may be many.
func (c *cluster) addSlices(ctx context.Context, s *view.Stats) error {
	next := ""
	for {
		var list v1alpha1.ObjectSliceList
		if err := c.client.List(ctx, &list, client.Limit(100), client.Continue(next)); err != nil {
			return err
		}
		for i := range list.Items {
			s.Slices++
			s.HistoryBytes += view.SizeOf(&list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}
