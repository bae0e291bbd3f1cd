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

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

type applyOptions struct {
	rolloutFlags

	source           sourceOptions
	managerNamespace string
	serviceAccount   string
	force            bool
	allowRejected    bool
}

func (o *applyOptions) validate() error {
	if _, _, ok := cutTwo(o.serviceAccount); o.serviceAccount != "" && !ok {
		return exitf(CodeUsage, "flag --service-account: %q is not NAMESPACE/NAME", o.serviceAccount)
	}
	return errors.Join(o.source.validate(), o.rolloutFlags.validate())
}

func (a *app) applyCommand() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply NAME",
		Short: "Roll out manifests or a chart as a package",
		Long: `Roll out manifests or a Helm chart as the package NAME, which is made if it does
not exist. The content becomes the package's next revision; the manager rolls it
out, phase by phase. Content that the package has already makes no revision.

Annotations of a manifest say how it is treated, and are not part of it:
  strata.run/phase                 foundation, config, workloads or rest
  strata.run/collision-protection  Prevent, IfNoController or None
  strata.run/deletion              Delete, Retain or DeleteUnused
  strata.run/on-immutable-change   Refuse or Replace
  strata.run/unmanaged-fields      paths that are never applied
  strata.run/exclusive-fields      paths with nothing but what the manifest has
  strata.run/update-phase          the phase that updates an existing object
  strata.run/create-once           true: it is created once for its content
  strata.run/probe                 a probe for it, in YAML
For manifests that cannot be annotated, --settings FILE says the same: a list of
{kind, group, namespace, name} and phase, collisionProtection, deletion,
onImmutableChange, unmanagedFields, exclusiveFields, updatePhase or createOnce
("true").

What would be done is shown first, as by plan. Deleting and replacing has to be
confirmed. Content that would be blocked or collide is refused without
--force. A package that a front makes is refused.

Exit codes: 0 the revision was made, or none is needed; with --wait: rolled out;
2 usage, or a file cannot be read; 3 refused, or with --wait: it cannot succeed;
4 with --wait: the time was over; 5 another client made a revision meanwhile, or
with --wait: a newer revision took its place; 7 no cluster answers.
Rights needed: those of plan; to create and patch packages, revisions and
objectslices; for Secrets in the content, to create and patch Secrets in the
manager's namespace.`,
		Example: `  strata apply web -f manifests/ --reason "raise the limits"
  strata apply web --chart ./web --values production.yaml --wait --yes`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if err := o.validate(); err != nil {
			return err
		}
		return a.apply(ctx, o, name)
	})
	o.add(cmd)
	o.source.add(cmd)
	addManagerNamespace(cmd, &o.managerNamespace)
	f := cmd.Flags()
	f.StringVar(&o.serviceAccount, "service-account", "", "for a new package: NAMESPACE/NAME of the ServiceAccount that it acts as (default: the manager)")
	f.BoolVar(&o.force, "force", false, "make the revision although it collides or would be blocked")
	f.BoolVar(&o.allowRejected, "allow-rejected", false, "also apply content that a rollback has rejected")
	return cmd
}

func (a *app) apply(ctx context.Context, o applyOptions, name string) error {
	s, err := a.readSource(o.source, name)
	if err != nil {
		return err
	}
	s.origin.Reason = o.reason
	c, err := a.connect()
	if err != nil {
		return err
	}
	s.origin.CreatedBy = c.whoAmI(ctx)
	proposed, err := a.propose(ctx, c, s, name, o.managerNamespace, false)
	if err != nil {
		return err
	}
	if namespace, name, given := cutTwo(o.serviceAccount); given && !proposed.Exists {
		proposed.Package.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: namespace, Name: name}
	}
	doc := view.Applied{TypeMeta: view.DocumentType("Applied"), Package: name, DryRun: o.dryRun, Plan: proposed.Document()}
	doc.Target = doc.Plan.FromRevision
	p := a.text(o.output)
	view.WritePlanObjects(p, doc.Plan)
	view.WritePlanNotes(p, doc.Plan)
	if err := a.agree(o, doc.Plan); err != nil {
		doc.Refused = err.Error()
		return cmp.Or(a.end(o.output, p, doc), err)
	}
	if err := c.publish(ctx, proposed, o, &doc); err != nil {
		return err
	}
	switch {
	case doc.Revision == 0:
		o.outcome(p, "No revision is needed: revision %d has this content.", doc.Target)
	case doc.Plan.Waits != "":
		o.outcome(p, "Revision %d was made, and waits.", doc.Revision)
	default:
		o.outcome(p, "Revision %d was made and rolls out.", doc.Revision)
	}
	doc.Rollout, err = a.follow(ctx, c, p, o.rolloutFlags, name, doc.Target)
	return cmp.Or(a.end(o.output, p, doc), err)
}

// agree refuses what must not be applied, and asks before something is deleted.
func (a *app) agree(o applyOptions, doc view.Plan) error {
	switch {
	case doc.Need == string(history.NeedNone):
		return nil
	case doc.Need == string(history.NeedPinned):
		return exitf(CodeTerminal, "package %s is kept at revision %d by spec.rollback: take that away first (kubectl patch package %s --type=merge -p '{\"spec\":{\"rollback\":null}}')", doc.Package, doc.FromRevision, doc.Package)
	case doc.Need == string(history.NeedRejected) && !o.allowRejected:
		return exitf(CodeTerminal, "revision %d, a rollback, has rejected this content: change it, or give --allow-rejected", doc.FromRevision)
	case doc.Invalid != "":
		return exitf(CodeTerminal, "the content can never be rolled out: %s; nothing was changed", doc.Invalid)
	case doc.IsBlocked() && !o.force:
		return exitf(CodeTerminal, "the content would not be rolled out as it is: %s; nothing was changed (--force makes the revision all the same)", doc.FirstObstacle())
	case doc.Count(v1alpha1.PlanDelete)+doc.Count(v1alpha1.PlanReplace) == 0:
		return nil
	}
	return a.ask(o.writeFlags, "Go on?")
}

// publish makes the package, if need be, and the revision; or lets the API server check them.
// What the target lacks of content that it has already is stored again.
func (c *cluster) publish(ctx context.Context, p *proposal, o applyOptions, doc *view.Applied) error {
	isNew := p.Need == history.NeedRevision || p.Need == history.NeedRejected
	pkg, packed := p.Package.DeepCopy(), p.Packed
	keep := func(*v1alpha1.Revision) error { return nil }
	switch {
	case o.dryRun == dryRunClient, o.isDry() && !isNew:
		return nil
	case !o.isDry() && (isNew || len(content.References(p.History.Target.Spec.Phases)) > 0):
		phases, _, err := p.source.phases(c)
		if err != nil {
			return err
		}
		contents := c.contents(o.managerNamespace)
		// The plan was packed without making the key for Secrets.
		if packed, err = contents.Pack(ctx, phases, p.source.probes); err != nil {
			return c.explain("packing the content", err)
		}
		keep = func(standing *v1alpha1.Revision) error {
			return c.explainWrite("storing the content", contents.Keep(ctx, pkg, packed, standing))
		}
	}
	if !isNew {
		if err := keep(nil); err != nil {
			return err
		}
		return c.noteAsked(ctx, p)
	}
	if !p.Exists {
		if err := c.create(ctx, pkg, "package "+pkg.Name, o.writeFlags); err != nil {
			return err
		}
		doc.PackageCreated = !o.isDry()
	}
	if err := keep(p.History.Target); err != nil {
		return err
	}
	next := p.History.Next(pkg, contentOf(p.source, packed))
	if err := c.create(ctx, next, fmt.Sprintf("revision %d of package %s", next.Spec.Revision, pkg.Name), o.writeFlags); err != nil || o.isDry() {
		return err
	}
	doc.Revision, doc.Target = next.Spec.Revision, next.Spec.Revision
	return nil
}

// noteAsked notes that content is asked for which a rollback has brought back, so that what the
// rollback has rejected is made when that is asked for next.
func (c *cluster) noteAsked(ctx context.Context, p *proposal) error {
	if !p.History.LiftsRejection(p.Package) {
		return nil
	}
	return c.explainWrite("noting what is asked for", c.merge(ctx, p.Package.DeepCopy(), map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{v1alpha1.AnnotationRejectionLifted: view.Number(p.History.Target.Spec.Revision)},
	}}, writeFlags{}))
}

func cutTwo(text string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(text, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}
