// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type pauseOptions struct {
	writeFlags

	reason, until, by string
	revision          int64
}

func (a *app) pauseCommand() *cobra.Command {
	var o pauseOptions
	cmd := &cobra.Command{
		Use:   "pause PACKAGE --reason TEXT",
		Short: "Stop every write of a package's rollout, and say why",
		Long: `Stop every write for a package: the rollout, repairs and teardowns. Observation
goes on, and what is pending is shown. Deadlines do not run in a pause.

The reason is for others who find the package paused; on a terminal it is asked
for. With --until the pause ends by itself. Who pauses is whom the API server
takes you for, unless --by names another user.

With --revision nothing is written for that revision alone: what served before
goes on serving, and is repaired.

Exit codes: 0 it is paused; 2 usage; 5 the package was changed meanwhile; 6
there is no such package or revision; 7 no cluster answers.

Rights: get and patch packages.strata.run, with --revision list and patch
revisions.strata.run; create selfsubjectreviews, which everyone may.`,
		Example: `  strata pause istiod-openshift-gateway --reason "change freeze" --until 2h
  strata pause istiod-openshift-gateway --reason "INC-4711" --until 2026-12-24T18:00:00Z`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.pause(ctx, o, name) })
	o.add(cmd)
	cmd.Flags().StringVar(&o.reason, "reason", "", "why it is paused")
	cmd.Flags().StringVar(&o.until, "until", "", "when the pause ends by itself: a duration from now such as 2h, or a time such as 2026-12-24T18:00:00Z")
	cmd.Flags().StringVar(&o.by, "by", "", "who pauses it; empty is whom the API server takes you for")
	a.addRevision(cmd, &o.revision, "revision", "pause this revision alone; 0 pauses the package")
	return cmd
}

func (a *app) pause(ctx context.Context, o pauseOptions, name string) error {
	if o.revision > 0 && o.until != "" {
		return exitf(CodeUsage, "--until is for a package: the pause of a revision ends with `strata resume %s --revision %d`", name, o.revision)
	}
	pause := &v1alpha1.Pause{By: o.by}
	var err error
	if o.until != "" {
		if pause.Until, err = parseUntil(o.until, a.now()); err != nil {
			return exitf(CodeUsage, "flag --until: %w", err)
		}
	}
	if pause.Reason, err = a.pauseReason(o); err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	if pause.By == "" {
		pause.By = a.whoAmI(ctx, c)
	}
	if o.revision > 0 {
		return a.setRevisionPause(ctx, c, o.writeFlags, name, o.revision, pause)
	}
	pkg, err := c.pkg(ctx, name)
	if err != nil {
		return err
	}
	if !pkg.DeletionTimestamp.IsZero() {
		a.note("Note: package %s is being deleted: nothing more of it is torn down while it is paused.", name)
	}
	if before := history.PauseOf(pkg, a.now()); before != nil {
		a.note("Package %s is %s.", name, view.PauseText(before))
		if err := a.ask(o.writeFlags, "Replace that pause?"); err != nil {
			return err
		}
	}
	_, err = c.editPackage(ctx, pkg, o.writeFlags, edit{doing: "pausing", before: "pausing it"}, func(*v1alpha1.Package) map[string]any {
		return map[string]any{"paused": map[string]any{"by": orNil(pause.By), "reason": pause.Reason, "until": pause.Until}}
	})
	if err != nil {
		return err
	}
	r := o.receipt("pause", name, 0)
	r.Changed, r.Paused, r.Message = true, pause, fmt.Sprintf("Package %s is %s.", name, view.PauseText(pause))
	return a.printReceipt(o.writeFlags, r)
}

func (a *app) pauseReason(o pauseOptions) (string, error) {
	reason := strings.TrimSpace(o.reason)
	if reason == "" && a.isTerminal(a.In) {
		var err error
		if reason, err = a.prompt("Reason: "); err != nil {
			return "", err
		}
	}
	if reason == "" {
		return "", exitf(CodeUsage, "--reason is required: say why the package is paused")
	}
	return reason, nil
}

func parseUntil(text string, now time.Time) (*metav1.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a duration such as 2h nor a time such as 2026-12-24T18:00:00Z", text)
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return nil, fmt.Errorf("%s is over already", at.UTC().Format(time.RFC3339))
	}
	until := metav1.NewTime(at.UTC().Truncate(time.Second))
	return &until, nil
}

// whoAmI is the user's name as the API server knows it; if the API server does not
// say, the user's name in the kubeconfig.
func (a *app) whoAmI(ctx context.Context, c *cluster) string {
	if name := c.whoAmI(ctx); name != "" {
		return name
	}
	raw, err := a.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	current := raw.CurrentContext
	if a.flags.Context != nil && *a.flags.Context != "" {
		current = *a.flags.Context
	}
	if named := raw.Contexts[current]; named != nil {
		return named.AuthInfo
	}
	return ""
}

type resumeOptions struct {
	writeFlags

	revision int64
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:   "resume PACKAGE",
		Short: "End the pause of a package, or of one of its revisions",
		Long: `End the pause of a package: what was pending is written, and deadlines start
anew. What is pending is shown. With --revision the pause of that revision ends.

Exit codes: 0 it is not paused any more, or was not paused; 2 usage; 5 the
package was changed meanwhile; 6 there is no such package or revision; 7 no
cluster answers.

Rights: get and patch packages.strata.run; list revisions.strata.run, with
--revision also patch.`,
		Example: `  strata resume istiod-openshift-gateway`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.resume(ctx, o, name) })
	o.add(cmd)
	a.addRevision(cmd, &o.revision, "revision", "end the pause of this revision alone; 0 is the package")
	return cmd
}

func (a *app) resume(ctx context.Context, o resumeOptions, name string) error {
	if o.revision > 0 {
		c, err := a.connect()
		if err != nil {
			return err
		}
		return a.setRevisionPause(ctx, c, o.writeFlags, name, o.revision, nil)
	}
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	pkg, r := v.Package, o.receipt("resume", name, 0)
	r.Message = fmt.Sprintf("Package %s is not paused.", name)
	target := view.HistoryOf(pkg, v.Revisions).Target
	if pkg.Spec.Paused == nil {
		if target != nil && view.LifecycleOf(target) == v1alpha1.LifecyclePaused {
			next := fmt.Sprintf("strata resume %s --revision %d", name, target.Spec.Revision)
			if view.IsWithheld(target) {
				next = "it waits for approval: strata approve " + name
			}
			a.note("Note: revision %d itself is paused: %s.", target.Spec.Revision, next)
		}
		return a.printReceipt(o.writeFlags, r)
	}
	r.Paused, r.Changed = pkg.Spec.Paused, true
	r.Message = fmt.Sprintf("Package %s is resumed. It was %s.", name, view.PauseText(pkg.Spec.Paused))
	if target != nil && target.Status.Plan != nil && len(target.Status.Plan.Objects) > 0 {
		r.Message += " Pending: " + target.Status.Plan.Summary + "."
	}
	_, err = c.editPackage(ctx, pkg, o.writeFlags, edit{doing: "resuming", before: "resuming it"}, func(*v1alpha1.Package) map[string]any {
		return map[string]any{"paused": nil}
	})
	if err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, r)
}

// setRevisionPause pauses one revision: nothing is written for it, and what served before goes
// on serving. Without a pause it is resumed.
func (a *app) setRevisionPause(ctx context.Context, c *cluster, o writeFlags, name string, n int64, pause *v1alpha1.Pause) error {
	v, err := c.snapshot(ctx, name)
	if err != nil {
		return err
	}
	r, err := revisionNumbered(v, n)
	switch {
	case err != nil:
		return err
	case view.LifecycleOf(r) == v1alpha1.LifecycleArchived:
		return exitf(CodeTerminal, "revision %d is archived, and nothing is written for it any more", n)
	case history.IsAwaiting(r):
		return exitf(CodeTerminal, "revision %d waits for approval: `strata approve %s --revision %d` lets it begin", n, name, n)
	}
	receipt, state, before := o.receipt("pause", name, n), v1alpha1.LifecyclePaused, view.RevisionPause(r)
	if pause == nil {
		receipt.Command, state = "resume", v1alpha1.LifecycleActive
	}
	text := fmt.Sprintf("Revision %d of package %s is ", n, name)
	switch {
	case pause == nil && before == nil:
		receipt.Message = text + "not paused."
		return a.printReceipt(o, receipt)
	case pause == nil:
		receipt.Paused, receipt.Message, pause = before, text+"resumed. It was "+view.PauseText(before)+".", &v1alpha1.Pause{}
	case before != nil:
		receipt.Paused, receipt.Message = before, text+view.PauseText(before)+" already."
		return a.printReceipt(o, receipt)
	default:
		receipt.Paused, receipt.Message = pause, text+view.PauseText(pause)+"."
	}
	receipt.Changed = true
	annotations := map[string]any{v1alpha1.AnnotationPauseReason: orNil(pause.Reason), v1alpha1.AnnotationPausedBy: orNil(pause.By)}
	if err := c.setLifecycle(ctx, r, state, annotations, "changing", o); err != nil {
		return err
	}
	return a.printReceipt(o, receipt)
}
