// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
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
	a.addRevision(cmd, &o.revision, "pause this revision alone; 0 pauses the package")
	return cmd
}

// addRevision adds the flag that names a revision.
func (a *app) addRevision(cmd *cobra.Command, revision *int64, usage string) {
	cmd.Flags().Int64Var(revision, "revision", 0, usage)
	complete(cmd, "revision", a.completeRevisions)
}

func (a *app) pause(ctx context.Context, o pauseOptions, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.revision < 0 {
		return exitf(CodeUsage, "flag --revision: %d is not a revision", o.revision)
	}
	if o.revision > 0 {
		return a.pauseRevision(ctx, o, name)
	}
	pause := &v1alpha1.Pause{By: o.by, Reason: o.reason}
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
	if pause.By == "" {
		pause.By = a.whoAmI(ctx, c)
	}
	_, err = c.editPackage(ctx, pkg, o.writeFlags, edit{doing: "pausing", before: "pausing it"}, func(*v1alpha1.Package) map[string]any {
		set := map[string]any{"by": nil, "reason": pause.Reason, "until": pause.Until}
		if pause.By != "" {
			set["by"] = pause.By
		}
		return map[string]any{"spec": map[string]any{"paused": set}}
	})
	if err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, view.Receipt{
		TypeMeta: view.DocumentType("Receipt"), Command: "pause", Package: name, Changed: true, DryRun: o.dryRun, Paused: pause,
		Message: fmt.Sprintf("Package %s is %s.", name, view.PauseText(pause)),
	})
}

// pauseReason is the reason given, or asked for.
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

// parseUntil is a time, given as such or as a duration from now.
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
	a.addRevision(cmd, &o.revision, "end the pause of this revision alone; 0 is the package")
	return cmd
}

func (a *app) resume(ctx context.Context, o resumeOptions, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.revision < 0 {
		return exitf(CodeUsage, "flag --revision: %d is not a revision", o.revision)
	}
	if o.revision > 0 {
		return a.resumeRevision(ctx, o, name)
	}
	c, pkg, revisions, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	r := view.Receipt{TypeMeta: view.DocumentType("Receipt"), Command: "resume", Package: name, DryRun: o.dryRun, Message: fmt.Sprintf("Package %s is not paused.", name)}
	if pkg.Spec.Paused == nil {
		a.notePausedRevision(pkg, revisions)
		return a.printReceipt(o.writeFlags, r)
	}
	r.Paused, r.Changed = pkg.Spec.Paused, true
	r.Message = fmt.Sprintf("Package %s is resumed. It was %s.", name, view.PauseText(pkg.Spec.Paused))
	if target := view.LineOf(pkg, revisions).Target; target != nil && target.Status.Plan != nil && len(target.Status.Plan.Objects) > 0 {
		r.Message += " Pending: " + target.Status.Plan.Summary + "."
	}
	_, err = c.editPackage(ctx, pkg, o.writeFlags, edit{doing: "resuming", before: "resuming it"}, func(*v1alpha1.Package) map[string]any {
		return map[string]any{"spec": map[string]any{"paused": nil}}
	})
	if err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, r)
}

// notePausedRevision notes that a revision is paused itself, not by its package.
func (a *app) notePausedRevision(pkg *v1alpha1.Package, revisions []v1alpha1.Revision) {
	target := view.LineOf(pkg, revisions).Target
	if target != nil && view.LifecycleOf(target) == v1alpha1.LifecyclePaused {
		a.note("Note: revision %d itself is paused: %s.", target.Spec.Revision, output.Clean(nextForPausedRevision(pkg, target)))
	}
}

// nextForPausedRevision is the way out of a pause of a single revision.
func nextForPausedRevision(pkg *v1alpha1.Package, target *v1alpha1.Revision) string {
	if view.IsWithheld(target) {
		return "it waits for approval: strata approve " + pkg.Name
	}
	return fmt.Sprintf("strata resume %s --revision %d", pkg.Name, target.Spec.Revision)
}

// pauseRevision pauses one revision: nothing is written for it, and what served before
// goes on serving.
func (a *app) pauseRevision(ctx context.Context, o pauseOptions, name string) error {
	if o.until != "" {
		return exitf(CodeUsage, "--until is for a package: the pause of a revision ends with `strata resume %s --revision %d`", name, o.revision)
	}
	reason, err := a.pauseReason(o)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	r, err := c.revisionForPause(ctx, name, o.revision)
	if err != nil {
		return err
	}
	receipt := view.Receipt{TypeMeta: view.DocumentType("Receipt"), Command: "pause", Package: name, Revision: o.revision, DryRun: o.dryRun}
	if before := view.RevisionPause(r); before != nil {
		receipt.Paused = before
		receipt.Message = fmt.Sprintf("Revision %d of package %s is %s already.", o.revision, name, view.PauseText(before))
		return a.printReceipt(o.writeFlags, receipt)
	}
	by := o.by
	if by == "" {
		by = a.whoAmI(ctx, c)
	}
	receipt.Changed, receipt.Paused = true, &v1alpha1.Pause{By: by, Reason: reason}
	receipt.Message = fmt.Sprintf("Revision %d of package %s is %s.", o.revision, name, view.PauseText(receipt.Paused))
	if err := c.setPaused(ctx, r, v1alpha1.LifecyclePaused, *receipt.Paused, o.writeFlags); err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, receipt)
}

// resumeRevision ends the pause of one revision.
func (a *app) resumeRevision(ctx context.Context, o resumeOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	r, err := c.revisionForPause(ctx, name, o.revision)
	if err != nil {
		return err
	}
	receipt := view.Receipt{TypeMeta: view.DocumentType("Receipt"), Command: "resume", Package: name, Revision: o.revision, DryRun: o.dryRun}
	pause := view.RevisionPause(r)
	if pause == nil {
		receipt.Message = fmt.Sprintf("Revision %d of package %s is not paused.", o.revision, name)
		return a.printReceipt(o.writeFlags, receipt)
	}
	receipt.Changed, receipt.Paused = true, pause
	receipt.Message = fmt.Sprintf("Revision %d of package %s is resumed. It was %s.", o.revision, name, view.PauseText(pause))
	if err := c.setPaused(ctx, r, v1alpha1.LifecycleActive, v1alpha1.Pause{}, o.writeFlags); err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, receipt)
}

// revisionForPause is a revision that can be paused and resumed.
func (c *cluster) revisionForPause(ctx context.Context, name string, n int64) (*v1alpha1.Revision, error) {
	_, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := revisionNumbered(name, revisions, n)
	switch {
	case err != nil:
		return nil, err
	case view.LifecycleOf(r) == v1alpha1.LifecycleArchived:
		return nil, exitf(CodeTerminal, "revision %d is archived, and nothing is written for it any more", n)
	case history.IsAwaiting(r):
		return nil, exitf(CodeTerminal, "revision %d waits for approval: `strata approve %s --revision %d` lets it begin", n, name, n)
	}
	return r, nil
}

// setPaused changes the lifecycle state of a revision, on condition that it is still
// the one that was looked at. What is empty of the pause is taken away.
func (c *cluster) setPaused(ctx context.Context, r *v1alpha1.Revision, state v1alpha1.LifecycleState, pause v1alpha1.Pause, o writeFlags) error {
	if o.dryRun == dryRunClient {
		return nil
	}
	annotations := map[string]any{}
	for name, value := range map[string]string{v1alpha1.AnnotationPauseReason: pause.Reason, v1alpha1.AnnotationPausedBy: pause.By} {
		annotations[name] = nil
		if value != "" {
			annotations[name] = value
		}
	}
	change := map[string]any{
		"metadata": map[string]any{"uid": r.UID, "annotations": annotations},
		"spec":     map[string]any{"lifecycleState": state},
	}
	err := c.merge(ctx, &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, change, o)
	if apierrors.IsConflict(err) {
		return exitf(CodeSuperseded, "revision %d has changed: check it again before changing it", r.Spec.Revision)
	}
	return c.explainWrite("changing revision "+r.Name, err)
}
