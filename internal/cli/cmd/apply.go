// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions/probes"
)

type applyOptions struct {
	writeFlags

	source           sourceOptions
	managerNamespace string
	reason           string
	serviceAccount   string
	wait             bool
	timeout          time.Duration
	force            bool
	allowRejected    bool
}

func (o *applyOptions) validate() error {
	if err := errors.Join(o.source.validate(), o.writeFlags.validate()); err != nil {
		return err
	}
	switch {
	case o.dryRun != dryRunNone && o.wait:
		return exitf(CodeUsage, "--wait waits for a rollout, which --dry-run=%s does not begin", o.dryRun)
	case len(o.reason) > 1024:
		return exitf(CodeUsage, "flag --reason: has %d bytes, and at most 1024 can be kept", len(o.reason))
	}
	if _, _, ok := cutTwo(o.serviceAccount); o.serviceAccount != "" && !ok {
		return exitf(CodeUsage, "flag --service-account: %q is not NAMESPACE/NAME", o.serviceAccount)
	}
	return nil
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
  strata.run/deletion              Delete or Retain
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
confirmed. Content that would be held back or collide is refused without
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
	f.StringVar(&o.reason, "reason", "", "why, for the history")
	f.StringVar(&o.serviceAccount, "service-account", "", "for a new package: NAMESPACE/NAME of the ServiceAccount that it acts as (default: the manager)")
	f.BoolVar(&o.wait, "wait", false, "follow the rollout until it is done or cannot succeed")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: how long to follow, 0 without limit")
	f.BoolVar(&o.force, "force", false, "make the revision although it collides or would be held back")
	f.BoolVar(&o.allowRejected, "allow-rejected", false, "also apply content that a rollback has rejected")
	return cmd
}

// account is the ServiceAccount for a new package, nil for none.
func (o *applyOptions) account() *v1alpha1.ServiceAccountReference {
	namespace, name, ok := cutTwo(o.serviceAccount)
	if !ok {
		return nil
	}
	return &v1alpha1.ServiceAccountReference{Namespace: namespace, Name: name}
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
	if proposed.Package.Spec.ServiceAccount == nil && !proposed.Exists {
		proposed.Package.Spec.ServiceAccount = o.account()
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
	if proposed.Need == history.NeedRevision || proposed.Need == history.NeedRejected {
		if err := a.publish(ctx, c, proposed, o, &doc); err != nil {
			return err
		}
	}
	if proposed.Need == history.NeedNone && o.dryRun == dryRunNone {
		if err := c.keepAsked(ctx, proposed, o.managerNamespace); err != nil {
			return err
		}
	}
	return a.finishApply(ctx, c, p, o, doc)
}

// keepAsked makes good what a target may lack that has the content already: slices and
// Secrets that were deleted are stored again, and where a rollback has brought the content
// back, it is noted that the content is asked for, so that what the rollback has rejected is
// made when that is asked for next.
func (c *cluster) keepAsked(ctx context.Context, p *proposal, managerNamespace string) error {
	if len(content.References(p.Line.Target.Spec.Phases)) > 0 {
		phases, _, err := p.source.phases(c)
		if err != nil {
			return err
		}
		contents := c.contents(managerNamespace)
		packed, err := contents.Pack(ctx, phases, p.source.probes)
		if err != nil {
			return c.explain("packing the content", err)
		}
		if err := contents.Keep(ctx, p.Package, packed, nil); err != nil {
			return c.explainWrite("storing the content", err)
		}
	}
	if !p.Line.LiftsRejection(p.Package) {
		return nil
	}
	changed := p.Package.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha1.AnnotationRejectionLifted, strconv.FormatInt(p.Line.Target.Spec.Revision, 10))
	return c.explainWrite("noting what is asked for", c.client.Patch(ctx, changed, client.MergeFrom(p.Package), client.FieldOwner(cliOwner)))
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

// publish makes the package, if need be, and the revision.
func (a *app) publish(ctx context.Context, c *cluster, p *proposal, o applyOptions, doc *view.Applied) error {
	if o.dryRun == dryRunClient {
		return nil
	}
	if o.dryRun == dryRunServer {
		return c.tryOut(ctx, p)
	}
	phases, _, err := p.source.phases(c)
	if err != nil {
		return err
	}
	contents := c.contents(o.managerNamespace)
	// The plan was packed without making the key for Secrets.
	packed, err := contents.Pack(ctx, phases, p.source.probes)
	if err != nil {
		return c.explain("packing the content", err)
	}
	if !p.Exists {
		if err := c.client.Create(ctx, p.Package, client.FieldOwner(cliOwner)); err != nil {
			return c.explainWrite("creating package "+p.Package.Name, err)
		}
		doc.PackageCreated = true
	}
	if err := contents.Keep(ctx, p.Package, packed, p.Line.Target); err != nil {
		return c.explainWrite("storing the content", err)
	}
	next := p.Line.Next(p.Package, contentOf(p.source, packed))
	if err := c.client.Create(ctx, next, client.FieldOwner(cliOwner)); err != nil {
		return c.explainWrite(fmt.Sprintf("creating revision %d of package %s", next.Spec.Revision, p.Package.Name), err)
	}
	doc.Revision, doc.Target = next.Spec.Revision, next.Spec.Revision
	return nil
}

// tryOut lets the API server check the package and the revision.
func (c *cluster) tryOut(ctx context.Context, p *proposal) error {
	pkg := p.Package.DeepCopy()
	if !p.Exists {
		if err := c.client.Create(ctx, pkg, client.FieldOwner(cliOwner), client.DryRunAll); err != nil {
			return c.explainWrite("creating package "+pkg.Name, err)
		}
	}
	next := p.Line.Next(pkg, contentOf(p.source, p.Packed))
	if err := c.client.Create(ctx, next, client.FieldOwner(cliOwner), client.DryRunAll); err != nil {
		return c.explainWrite(fmt.Sprintf("creating revision %d of package %s", next.Spec.Revision, pkg.Name), err)
	}
	return nil
}

// explainWrite is explain for a write: an object that exists already was created by
// another client meanwhile, and what the API server rejects as invalid never
// succeeds.
func (c *cluster) explainWrite(doing string, err error) error {
	var exit *ExitError
	switch {
	case errors.As(err, &exit):
		return err
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return exitf(CodeSuperseded, "%s: another client has written in between: look again, and repeat the command: %w", doing, err)
	case apierrors.IsInvalid(err):
		return exitf(CodeTerminal, "%s: %w", doing, err)
	}
	return c.explain(doing, err)
}

// finishApply says what came of it, and follows the rollout if asked to.
func (a *app) finishApply(ctx context.Context, c *cluster, p *output.Printer, o applyOptions, doc view.Applied) error {
	switch {
	case doc.Revision == 0:
		o.outcome(p, "No revision is needed: revision %d has this content.", doc.Target)
	case doc.Plan.Waits != "":
		o.outcome(p, "Revision %d was made, and waits.", doc.Revision)
	default:
		o.outcome(p, "Revision %d was made and rolls out.", doc.Revision)
	}
	var err error
	if o.wait && p.Err() == nil {
		doc.Rollout, err = a.watchToEnd(ctx, c, watchOptions{name: doc.Package, timeout: o.timeout, revision: doc.Target, asNotes: o.output.isDocument()})
	}
	return cmp.Or(a.end(o.output, p, doc), err)
}

// whoAmI is the name of the user of the command, as the API server knows it; empty
// when the API server does not say.
func (c *cluster) whoAmI(ctx context.Context) string {
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"))
	if err := c.client.Create(ctx, review); err != nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(review.Object, "status", "userInfo", "username")
	return probes.Cut(name, 253, "")
}

// rawOf is JSON as an item of a List.
func rawOf(data []byte) runtime.RawExtension { return runtime.RawExtension{Raw: data} }

// cutTwo cuts NAMESPACE/NAME.
func cutTwo(text string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(text, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}
