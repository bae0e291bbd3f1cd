// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// handledWithin is how long the controller is given to answer a request.
const handledWithin = 10 * time.Second

type rollbackOptions struct {
	rolloutFlags

	to          int64
	pin         bool
	allowFailed bool
}

// take takes the revision from the arguments, where Helm has it.
func (o *rollbackOptions) take(args []string) error {
	if len(args) == 0 {
		return nil
	}
	n, err := revisionNumber(args[0])
	switch {
	case err != nil:
		return exitf(CodeUsage, "%w", err)
	case o.to != 0 && o.to != n:
		return exitf(CodeUsage, "revision %d or --to %d: give one", n, o.to)
	}
	o.to = n
	return nil
}

func (a *app) rollbackCommand() *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use:     "rollback PACKAGE [REVISION]",
		Aliases: []string{"undo"},
		Short:   "Roll out the content of an earlier revision again",
		Long: `Roll out the content of an earlier revision again, as a new revision: the next
number, with the content of REVISION (or --to). Without one it is the newest
earlier revision that has succeeded; content that was rolled back before is
passed over. What would change is shown first, and has to be confirmed. When the
content runs already, nothing is done.

A revision that has never succeeded is refused without --allow-failed. The
content that is rolled back is rejected: the front that made it does not make it
again until its custom resource has changed. With --pin it
makes nothing at all until spec.rollback is removed.
CustomResourceDefinitions never go back, and neither do volumes and what Jobs
have done; a warning says so.

Exit codes: 0 the new revision was made, with --wait: rolled out; 2 usage; 3
refused, or with --wait: it cannot succeed; 4 the controller did not answer, or
with --wait: the time was over; 5 with --wait: a newer revision took its place;
6 there is no such package or revision; 7 no cluster answers.

Rights: get, list, watch and patch packages.strata.run; list and watch
revisions.strata.run; get objectslices.strata.run.`,
		Example: `  strata rollback istiod-openshift-gateway
  strata rollback istiod-openshift-gateway 2 --reason "1.31.0 drops mTLS" --wait`,
		Args:              packageAndRevisions("a revision", 1),
		ValidArgsFunction: a.completeContents(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if err := cmp.Or(o.take(args[1:]), o.validate()); err != nil {
				return err
			}
			return a.rollback(ctx, o, packageName(args[0]))
		}),
	}
	o.add(cmd)
	cmd.Flags().Lookup("dry-run").Usage = "none, client (ask nothing of the cluster) or server (let it check the request)"
	// kubectl calls it --to-revision.
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "to-revision" {
			name = "to"
		}
		return pflag.NormalizedName(name)
	})
	a.addRevision(cmd, &o.to, "to", "the revision whose content is wanted; 0 is the newest earlier one that has succeeded")
	cmd.Flags().BoolVar(&o.pin, "pin", false, "let the front make no further revision until spec.rollback is removed")
	cmd.Flags().BoolVar(&o.allowFailed, "allow-failed", false, "also roll back to a revision that has never succeeded")
	return cmd
}

func (a *app) rollback(ctx context.Context, o rollbackOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	chosen, done, err := chooseRollback(v, o)
	if err != nil {
		return err
	}
	from, to := chosen.From, chosen.To
	doc := view.Rollback{
		TypeMeta: view.DocumentType("Rollback"), Package: name, FromRevision: from.Spec.Revision, ToRevision: to.Spec.Revision,
		Reason: o.reason, DryRun: o.dryRun, Changes: []view.Change{},
	}
	if done != "" {
		return a.print(o.output, doc, func(p *output.Printer) {
			p.Line(output.Span{Text: fmt.Sprintf("Nothing to roll back in package %s: %s.", name, done)})
		})
	}
	if err := c.readSlices(ctx, v.Manifests, from, to); err != nil {
		return exitf(CodeFalse, "comparing revision %d with revision %d: %w", from.Spec.Revision, to.Spec.Revision, err)
	}
	changes, same := view.ChangesBetween(from, to, v.Manifests)
	c.addFields(ctx, from, to, changes)
	doc.Pin, doc.Changes, doc.Warnings = o.pin, append(doc.Changes, changes...), view.WarningsOf(from, to, changes, v.Manifests)
	p := a.text(o.output)
	p.Wrapped("", output.Plain, fmt.Sprintf("Rolling back %s from revision %s to the content of revision %s:",
		name, view.WithVersion(from.Spec.Revision, view.VersionOf(from)), view.WithVersion(to.Spec.Revision, view.VersionOf(to))))
	view.WriteChanges(p, changes, same)
	for _, text := range doc.Warnings {
		a.note("Warning: %s", text)
	}
	for _, number := range chosen.Passed {
		a.note("Note: revision %d is passed over, because it was rolled back before; --to %[1]d brings it back.", number)
	}
	if v.Package.Spec.Paused != nil {
		a.note("Note: %s is paused (%s): nothing is written until it is resumed.", name, v.Package.Spec.Paused.Reason)
	}
	if err := a.ask(o.writeFlags, "Go on?"); err != nil {
		return err
	}
	if o.dryRun != dryRunClient {
		if err := a.requestRollback(ctx, c, v.Package, o, &doc); err != nil {
			return err
		}
	}
	o.outcome(p, "Revision %d has the content of revision %d and rolls out.", doc.Revision, doc.ToRevision)
	doc.Rollout, err = a.follow(ctx, c, p, o.rolloutFlags, name, doc.Revision)
	return cmp.Or(a.end(o.output, p, doc), err)
}

// chooseRollback is the revision to go back from and that to go back to, as the manager
// decides it, or why not. What is done says why nothing has to be done, empty when something
// has to.
func chooseRollback(v view.Snapshot, o rollbackOptions) (c history.RollbackChoice, done string, err error) {
	pkg := v.Package
	if !pkg.DeletionTimestamp.IsZero() {
		return c, "", exitf(CodeTerminal, "package %s is being deleted", pkg.Name)
	}
	c = history.Sort(pkg, v.Revisions).ChooseRollback(pkg, o.to, history.SpecDigest)
	switch c.Refusal {
	case history.RefusalNoTarget:
		err = exitf(CodeTerminal, "package %s has no active revision to roll back from", pkg.Name)
	case history.RefusalNoSource:
		err = exitf(CodeNotFound, "package %[1]s has no earlier revision that has succeeded with other content than revision %[2]d has, and that was not rolled back; `strata history %[1]s` lists what there is, and --to names it", pkg.Name, c.From.Spec.Revision)
	case history.RefusalNotFound:
		_, err = revisionNumbered(v, o.to)
	case history.RefusalIsTarget:
		done = fmt.Sprintf("revision %d is what runs", o.to)
	case history.RefusalSameContent:
		done = fmt.Sprintf("revision %d, which runs, has the content of revision %d", c.From.Spec.Revision, o.to)
	case history.RefusalTooFarBack:
		err = exitf(CodeTerminal, "revision %d of package %s is not rolled back: %s", c.From.Spec.Revision, pkg.Name, c.Message)
	default:
		if !history.Succeeded(c.To) && !o.allowFailed {
			err = exitf(CodeTerminal, "revision %d has never succeeded (%s): choose another, or give --allow-failed", o.to, view.OutcomeOf(c.To, v.Revisions))
		}
	}
	return c, done, err
}

// requestRollback sets spec.rollback, with the resourceVersion of the Package that was read, so
// that it does not overwrite the request of another client, and waits until the controller has
// answered it. Every field of it is set, so that none is left over from an earlier request.
func (a *app) requestRollback(ctx context.Context, c *cluster, pkg *v1alpha1.Package, o rollbackOptions, doc *view.Rollback) error {
	var at metav1.Time
	e := edit{doing: "requesting the rollback of", before: "rolling back", stillHolds: func(p *v1alpha1.Package) bool { return p.Status.TargetRevision <= doc.FromRevision }}
	_, err := c.editPackage(ctx, pkg, o.writeFlags, e, func(p *v1alpha1.Package) map[string]any {
		at = requestTime(a.now(), p)
		request := map[string]any{"toRevision": doc.ToRevision, "requestedAt": at, "reason": orNil(doc.Reason), "pin": nil, "by": orNil(c.whoAmI(ctx))}
		if doc.Pin {
			request["pin"] = true
		}
		return map[string]any{"rollback": request}
	})
	doc.RequestedAt = &at
	if err != nil || o.isDry() {
		return err
	}
	handled, err := a.awaitRollback(ctx, c, doc.Package, at)
	switch {
	case err != nil:
		return err
	case handled.Revision == 0:
		return exitf(CodeTerminal, "the rollback of package %s was refused: %s", doc.Package, handled.Message)
	}
	doc.Revision = handled.Revision
	return nil
}

// requestTime is now, but later than the last request, as the time in seconds
// distinguishes requests.
func requestTime(now time.Time, pkg *v1alpha1.Package) metav1.Time {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	if last := pkg.Spec.Rollback; last != nil && !at.After(last.RequestedAt.Time) {
		at = metav1.NewTime(last.RequestedAt.Add(time.Second))
	}
	return at
}

func (a *app) awaitRollback(ctx context.Context, c *cluster, name string, at metav1.Time) (*v1alpha1.RollbackStatus, error) {
	var handled *v1alpha1.RollbackStatus
	f := c.followPackage(a.note, handledWithin, name)
	err := f.until(ctx, "waiting for the controller", func(context.Context) (bool, error) {
		if pkg := f.snapshot.Package; pkg != nil && pkg.Status.Rollback != nil && pkg.Status.Rollback.RequestedAt.Equal(&at) {
			handled = pkg.Status.Rollback
		}
		return handled != nil, nil
	})
	if errors.Is(err, errOver) {
		return nil, exitf(CodeTimeout, "the rollback is requested, and the controller has not answered within %s: `strata status %s` tells when it has", handledWithin, name)
	}
	return handled, err
}

// addFields adds the fields that differ to the changes from one revision to another, as
// far as both can be read.
func (c *cluster) addFields(ctx context.Context, from, to *v1alpha1.Revision, changes []view.Change) {
	r := newReader(c.contents(defaultManagerNamespace), wholeSecrets)
	present, presentErr := r.read(ctx, from)
	wanted, wantedErr := r.read(ctx, to)
	if presentErr != nil || wantedErr != nil {
		return
	}
	fields := map[revisions.ObjectID][]view.DiffField{}
	for _, d := range diff.Contents(view.ObjectsOf(present, "", false), view.ObjectsOf(wanted, "", false), diff.Options{KeepNames: true}).Differences {
		if d.Kind != diff.Changed {
			continue
		}
		for _, change := range d.Changes {
			id := view.IdentityOf(view.ReferenceOf(d.Object().Manifest))
			fields[id] = append(fields[id], view.DiffField{Change: change})
		}
	}
	for i := range changes {
		if changes[i].Action == view.ChangeUpdate {
			changes[i].Fields = fields[view.IdentityOf(changes[i].ObjectReference)]
		}
	}
}
