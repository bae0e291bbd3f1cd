// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
)

type handOverOptions struct {
	writeFlags

	timeout   time.Duration
	namespace string
}

func (a *app) handOverCommand() *cobra.Command {
	var o handOverOptions
	cmd := &cobra.Command{
		Use:   "hand-over",
		Short: "Hand istiod of the GatewayClasses over to another operator",
		Long: `Hand istiod of the GatewayClasses, its canary and the Istio CRDs over to another
operator. Every object stays as it is and loses the owner reference and the
label of Strata, so that the other operator can become its controller; nothing
is restarted. The packages go, and the GatewayClasses lose the finalizer and the
conditions that Strata has set.

First every GatewayClass gets the annotation strata.run/hand-over: a manager
that runs, or is started later, leaves them alone until it is removed. A manager
that runs the front then does the rest. Without one this command does it itself,
so it can be used after the manager is gone. It can be run again at any time.

Exit codes: 0 everything is handed over; 1 a package is paused, or is being
deleted with its objects; 2 usage; 4 the time was over; 7 no cluster answers.

Rights: list and patch gatewayclasses.gateway.networking.k8s.io; list
packages.strata.run; get leases.coordination.k8s.io and list deployments.apps in
the namespace of the manager. Without a manager also: patch
gatewayclasses/status; delete and patch packages.strata.run and
revisions.strata.run; get and patch the objects of the packages.`,
		Example: `  strata hand-over --dry-run=client
  strata hand-over --yes`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.handOver(ctx, o)
		}),
	}
	o.add(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "for how long to wait, 0 without limit")
	addManagerNamespace(cmd, &o.namespace)
	return cmd
}

func (a *app) handOver(ctx context.Context, o handOverOptions) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	found, err := controller.FindHandOver(ctx, c.config)
	if err != nil {
		return c.explain("looking for what to hand over", err)
	}
	if len(found.Packages)+len(found.Resources) == 0 && !o.output.isDocument() {
		p := a.stdout(o.output)
		p.Line(output.Span{Text: fmt.Sprintf("There is nothing to hand over: no package of the front %s, and no GatewayClass of its controller.", found.Front)})
		return p.Err()
	}
	managed, err := c.runsFront(ctx, found.Front, o.namespace)
	if err != nil {
		return err
	}
	d := describeHandOver(found, managed, o.dryRun)
	p := a.text(o.output)
	view.WriteHandOver(p, d)
	var obstacles []string
	for i := range found.Packages {
		obstacles = append(obstacles, view.StandsInTheWay(&found.Packages[i], a.now())...)
	}
	if len(obstacles) > 0 {
		return exitf(CodeFalse, "nothing was changed: %s", strings.Join(obstacles, "; "))
	}
	if err := a.ask(o.writeFlags, "Hand over?"); err != nil {
		return err
	}
	if err := a.completeHandOver(ctx, c, found, managed, o); err != nil {
		return err
	}
	o.outcome(p, "Everything is handed over.")
	return a.end(o.output, p, d)
}

func (a *app) completeHandOver(ctx context.Context, c *cluster, found *controller.HandOver, managed bool, o handOverOptions) error {
	options := []client.PatchOption{client.FieldOwner(cliOwner)}
	switch o.dryRun {
	case dryRunClient:
		return nil
	case dryRunServer:
		return c.explain("handing over", found.Annotate(ctx, append(options, client.DryRunAll)...))
	}
	if err := found.Annotate(ctx, options...); err != nil {
		return c.explain("handing over", err)
	}
	waiting := ctx
	if o.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		waiting = limited
	}
	var left []string
	err := wait.PollUntilContextCancel(waiting, time.Second, true, func(ctx context.Context) (bool, error) {
		var err error
		if managed {
			left, err = found.Left(ctx)
		} else {
			left, err = found.Pass(ctx, c.config, o.namespace)
		}
		return err == nil && len(left) == 0, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return exitf(CodeTimeout, "not handed over after %s: %s", o.timeout, strings.Join(left, ", "))
	}
	return c.explain("handing over", err)
}

func (c *cluster) runsFront(ctx context.Context, front, namespace string) (bool, error) {
	leads, err := c.managerLeads(ctx, namespace)
	if err != nil || !leads {
		return false, err
	}
	fronts, err := c.frontsThatRun(ctx, namespace)
	return slices.Contains(fronts, front), err
}

func describeHandOver(found *controller.HandOver, managed bool, dryRun string) view.HandOver {
	d := view.HandOver{TypeMeta: view.DocumentType("HandOver"), Packages: []string{}, Classes: []string{}, By: "strata", DryRun: dryRun}
	if managed {
		d.By = "manager"
	}
	for i := range found.Packages {
		d.Packages = append(d.Packages, found.Packages[i].Name)
	}
	for _, class := range found.Resources {
		d.Classes = append(d.Classes, class.GetName())
	}
	return d
}
