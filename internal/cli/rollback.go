// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

// handledWithin is how long the controller is given to answer a request.
const handledWithin = 10 * time.Second

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

type rollbackOptions struct {
	output      outputFlag
	to          int64
	reason      string
	pin         bool
	wait        bool
	timeout     time.Duration
	yes         bool
	allowFailed bool
	dryRun      string
}

func (o rollbackOptions) validate() error {
	switch {
	case o.to < 0:
		return exitf(CodeUsage, "flag --to: %d is no revision", o.to)
	case !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, o.dryRun):
		return exitf(CodeUsage, "flag --dry-run: must be none, client or server")
	case o.dryRun != dryRunNone && o.wait:
		return exitf(CodeUsage, "--wait waits for a rollout, which --dry-run=%s does not begin", o.dryRun)
	}
	return nil
}

func (a *app) rollbackCommand() *cobra.Command {
	o := rollbackOptions{dryRun: dryRunNone}
	cmd := &cobra.Command{
		Use:   "rollback PACKAGE",
		Short: "Roll out the content of an earlier revision again",
		Long: `Roll out the content of an earlier revision again, as a new revision: the next
number, with the content of --to. Without --to it is the newest earlier revision
that has succeeded. What would change is shown first, and has to be confirmed.

A revision that has never succeeded is refused without --allow-failed. The
content that is rolled back is rejected: the front that made it does not make it
again until its custom resource asks for something else. With --pin it makes
nothing at all until spec.rollback is taken away. CustomResourceDefinitions
never go back, and neither do volumes and what Jobs have done; a warning says so.

Exit codes: 0 the new revision was made, with --wait: rolled out; 2 usage; 3
refused, or with --wait: it cannot succeed; 4 the controller did not answer, or
with --wait: the time was over; 5 with --wait: a newer revision took its place; 6
there is no such package or revision; 7 no cluster answers.

Rights: get, list, watch and patch packages.strata.run; list and watch
revisions.strata.run; get objectslices.strata.run.`,
		Example: `  strata rollback istiod-openshift-gateway
  strata rollback istiod-openshift-gateway --to 2 --reason "1.31.0 drops mTLS" --wait`,
		Args:              onePackage,
		ValidArgsFunction: a.completePackages(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return a.rollback(ctx, o, packageName(args[0]))
		}),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().Int64Var(&o.to, "to", 0, "the revision whose content is wanted; 0 is the newest earlier one that has succeeded")
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&o.pin, "pin", false, "let the front make no further revision until spec.rollback is taken away")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "follow the rollout until it is done or cannot succeed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: how long to follow, 0 without limit")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.allowFailed, "allow-failed", false, "also roll back to a revision that has never succeeded")
	cmd.Flags().StringVar(&o.dryRun, "dry-run", o.dryRun, "none, client (ask nothing of the cluster) or server (let it check the request)")
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("to", a.completeRevisions)
	return cmd
}

func (a *app) rollback(ctx context.Context, o rollbackOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return err
	}
	from, to, err := chooseRollback(pkg, revisions, o)
	if err != nil {
		return err
	}
	contents := sliceCache{}
	if err := c.readSlices(ctx, contents, from, to); err != nil {
		return exitf(CodeFalse, "comparing revision %d with revision %d: %w", from.Spec.Revision, to.Spec.Revision, err)
	}
	changes, same := changesBetween(from, to, contents)
	doc := Rollback{
		TypeMeta: documentType("Rollback"), Package: name, FromRevision: from.Spec.Revision, ToRevision: to.Spec.Revision,
		Reason: o.reason, Pin: o.pin, DryRun: o.dryRun, Changes: append([]Change{}, changes...),
		Warnings: warningsOf(from, to, changes, contents),
	}
	p := a.stdout(o.output.value)
	if !o.output.isDocument() {
		p.Wrapped("", output.Plain, fmt.Sprintf("Rolling back %s from revision %s to the content of revision %s:",
			name, withVersion(from.Spec.Revision, versionOf(from)), withVersion(to.Spec.Revision, versionOf(to))))
		writeChanges(p, changes, same)
	}
	for _, text := range doc.Warnings {
		a.note("Warning: %s", text)
	}
	if pkg.Spec.Paused != nil {
		a.note("Note: %s is paused (%s): nothing is written until it is resumed.", name, pkg.Spec.Paused.Reason)
	}
	if err := a.ask(writeFlags{yes: o.yes, dryRun: o.dryRun}, "Go on?"); err != nil {
		return err
	}
	if err := a.carryOut(ctx, c, pkg, o, &doc); err != nil {
		return err
	}
	return a.finishRollback(ctx, c, p, o, doc)
}

// chooseRollback is the target and the revision to go back to, or why not.
func chooseRollback(pkg *v1alpha1.Package, revisions []v1alpha1.Revision, o rollbackOptions) (*v1alpha1.Revision, *v1alpha1.Revision, error) {
	from := history.Sort(pkg, revisions).Target
	switch {
	case !pkg.DeletionTimestamp.IsZero():
		return nil, nil, exitf(CodeTerminal, "package %s is being deleted", pkg.Name)
	case from == nil:
		return nil, nil, exitf(CodeTerminal, "package %s has no active revision to roll back from", pkg.Name)
	}
	if o.to == 0 {
		to := newestEarlierSuccess(from, revisions)
		if to == nil {
			return nil, nil, exitf(CodeNotFound, "package %s has no earlier revision that has succeeded with other content than revision %d has; `strata history %s` lists what there is", pkg.Name, from.Spec.Revision, pkg.Name)
		}
		return from, to, nil
	}
	to, err := revisionNumbered(pkg.Name, revisions, o.to)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case to == from || to.Spec.Revision == from.Spec.Revision:
		return nil, nil, exitf(CodeUsage, "revision %d is the target already", o.to)
	case hasSameContent(from, to):
		return nil, nil, exitf(CodeUsage, "revision %d has the same content as the target, revision %d", o.to, from.Spec.Revision)
	case !history.Succeeded(to) && !o.allowFailed:
		return nil, nil, exitf(CodeTerminal, "revision %d has never succeeded (%s): choose another, or give --allow-failed", o.to, outcomeOf(to, revisions))
	}
	return from, to, nil
}

// newestEarlierSuccess is what the controller takes too when no revision is
// named. It is found here so that what is shown is what is asked for.
func newestEarlierSuccess(from *v1alpha1.Revision, revisions []v1alpha1.Revision) *v1alpha1.Revision {
	for i := len(revisions) - 1; i >= 0; i-- {
		r := &revisions[i]
		if r.Spec.Revision < from.Spec.Revision && history.Succeeded(r) && !hasSameContent(from, r) {
			return r
		}
	}
	return nil
}

func hasSameContent(a, b *v1alpha1.Revision) bool {
	return a.Spec.ContentDigest != "" && a.Spec.ContentDigest == b.Spec.ContentDigest
}

// carryOut sends the request and waits until the controller has answered it.
func (a *app) carryOut(ctx context.Context, c *cluster, pkg *v1alpha1.Package, o rollbackOptions, doc *Rollback) error {
	if o.dryRun == dryRunClient {
		return nil
	}
	at, err := a.requestRollback(ctx, c, pkg, o, doc)
	if err != nil {
		return err
	}
	doc.RequestedAt = &at
	if o.dryRun == dryRunServer {
		return nil
	}
	handled, err := c.awaitRollback(ctx, doc.Package, at)
	switch {
	case err != nil:
		return err
	case handled.Revision == 0:
		return exitf(CodeTerminal, "the rollback of package %s was refused: %s", doc.Package, handled.Message)
	}
	doc.Revision = handled.Revision
	return nil
}

// mostAttempts is how often a request is sent anew because the Package was
// written meanwhile, which every step of a rollout does.
const mostAttempts = 10

// requestRollback sets spec.rollback, with the version of the Package that was
// looked at, so that nobody else's request is written over.
func (a *app) requestRollback(ctx context.Context, c *cluster, pkg *v1alpha1.Package, o rollbackOptions, doc *Rollback) (metav1.Time, error) {
	for attempt := 1; ; attempt++ {
		at := requestTime(a.now(), pkg)
		patch, err := rollbackPatch(pkg, at, *doc)
		if err != nil {
			return at, err
		}
		options := []client.PatchOption{client.FieldOwner(cliOwner)}
		if o.dryRun == dryRunServer {
			options = append(options, client.DryRunAll)
		}
		object := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: pkg.Name}}
		err = c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), options...)
		if !apierrors.IsConflict(err) || attempt == mostAttempts {
			return at, c.explain("requesting the rollback of package "+pkg.Name, err)
		}
		next, err := c.pkg(ctx, pkg.Name)
		if err != nil {
			return at, err
		}
		if next.Generation != pkg.Generation || next.Status.TargetRevision > doc.FromRevision {
			return at, exitf(CodeSuperseded, "package %s was changed meanwhile: look again before rolling back", pkg.Name)
		}
		pkg = next
	}
}

// requestTime is now, and later than the last request, as requests are told apart
// by their time in seconds.
func requestTime(now time.Time, pkg *v1alpha1.Package) metav1.Time {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	if last := pkg.Spec.Rollback; last != nil && !at.After(last.RequestedAt.Time) {
		at = metav1.NewTime(last.RequestedAt.Add(time.Second))
	}
	return at
}

// rollbackPatch sets every field of spec.rollback, so that none is left over from
// an earlier request.
func rollbackPatch(pkg *v1alpha1.Package, at metav1.Time, doc Rollback) ([]byte, error) {
	request := map[string]any{"toRevision": doc.ToRevision, "requestedAt": at, "reason": nil, "pin": nil}
	if doc.Reason != "" {
		request["reason"] = doc.Reason
	}
	if doc.Pin {
		request["pin"] = true
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": pkg.ResourceVersion},
		"spec":     map[string]any{"rollback": request},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the rollback request: %w", err)
	}
	return patch, nil
}

// awaitRollback waits until the controller has answered the request of a time.
func (c *cluster) awaitRollback(ctx context.Context, name string, at metav1.Time) (*v1alpha1.RollbackStatus, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := time.After(handledWithin)
	changes := c.follow(ctx, name)
	var s snapshot
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the controller: %w", ctx.Err())
		case <-over:
			return nil, exitf(CodeTimeout, "the rollback is requested, and the controller has not answered within %s: `strata status %s` tells when it has", handledWithin, name)
		case ch := <-changes:
			if ch.err != nil {
				return nil, ch.err
			}
			if ch.apply == nil {
				continue
			}
			ch.apply(&s)
			if s.pkg == nil {
				continue
			}
			if handled := s.pkg.Status.Rollback; handled != nil && handled.RequestedAt.Equal(&at) {
				return handled, nil
			}
		}
	}
}

// finishRollback says what came of it, and follows the rollout if asked to.
func (a *app) finishRollback(ctx context.Context, c *cluster, p *output.Printer, o rollbackOptions, doc Rollback) error {
	following := watchOptions{name: doc.Package, timeout: o.timeout, revision: doc.Revision, asNotes: o.output.isDocument()}
	if o.output.isDocument() {
		var err error
		if o.wait {
			doc.Rollout, err = a.watchToEnd(ctx, c, following)
		}
		return cmp.Or(printDocument(p, o.output.value, doc), err)
	}
	if o.dryRun != dryRunNone {
		p.Line(output.Span{Text: fmt.Sprintf("Nothing was changed (--dry-run=%s).", o.dryRun)})
	} else {
		p.Line(output.Span{Text: fmt.Sprintf("Revision %d has the content of revision %d and rolls out.", doc.Revision, doc.ToRevision)})
	}
	if err := p.Err(); err != nil || !o.wait {
		return err
	}
	return a.watch(ctx, c, following)
}
