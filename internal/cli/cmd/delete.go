// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type deleteOptions struct {
	writeFlags

	cascade   string
	allowLoss string
	wait      bool
	timeout   time.Duration
}

func (a *app) deleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete PACKAGE",
		Short: "Delete a package; show first what goes and what stays",
		Long: `Delete a package. Its objects are torn down in reverse order of their phases,
then its revisions go. Retained objects (CustomResourceDefinitions, namespaces,
volumes and their claims, and what has the annotation helm.sh/resource-policy:
keep) stay. With --cascade=orphan all of them stay and are released.

What goes and what stays is shown first, and has to be confirmed. Where data
would be lost that no revision can bring back (what lives in namespaces that go,
volumes and their claims) the name of the package has to be typed, or given with
--allow-data-loss. Custom resources are not deleted: a definition that goes
waits until they are deleted. --dry-run=client shows it and deletes nothing.

Exit codes: 0 the deletion is under way, with --wait: done; 2 usage; 3 with
--wait: the teardown is stuck; 4 with --wait: the time was over; 5 it was
replaced meanwhile; 6 there is no such package; 7 no cluster answers.

Rights: get and delete packages.strata.run; list revisions.strata.run; get
objectslices.strata.run; list the kinds whose data may be lost, as far as there
are some.`,
		Example: `  strata delete web --dry-run=client
  strata delete web --yes --wait
  strata delete web --cascade=orphan`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if o.wait && o.isDry() {
			return exitf(CodeUsage, "--wait waits for a teardown, which --dry-run=%s does not begin", o.dryRun)
		}
		return a.delete(ctx, o, name)
	})
	o.add(cmd)
	addChoice(cmd, &o.cascade, "cascade", view.CascadeBackground, "orphan (every object stays), background or foreground (Kubernetes then keeps the package until all is gone)",
		view.CascadeOrphan, view.CascadeBackground, view.CascadeForeground)
	cmd.Flags().StringVar(&o.allowLoss, "allow-data-loss", "", "the package's name, to lose data without being asked")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until the package is gone")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: for how long, 0 without limit")
	return cmd
}

func (a *app) delete(ctx context.Context, o deleteOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	pkg, d := v.Package, c.lookAtDeletion(ctx, v, o)
	p := a.text(o.output)
	p.Line(output.Span{Text: "Deleting package " + name + ":"})
	view.WriteDeletion(p, d)
	if pause := history.PauseOf(pkg, a.now()); pause != nil {
		a.note("Note: %s is %s; nothing is torn down until it is resumed.", name, view.PauseText(pause))
	}
	if err := a.confirmDeletion(o, d); err != nil {
		return err
	}
	if err := c.deletePackage(ctx, pkg, o.propagation(), o.writeFlags); err != nil {
		return err
	}
	if o.wait {
		if err := a.awaitGone(ctx, c, pkg, o.timeout); err != nil {
			return err
		}
		d.Deleted = true
	}
	if d.Deleted {
		o.outcome(p, "Package %s is gone.", name)
	} else {
		o.outcome(p, "Package %s is being deleted.", name)
	}
	return a.end(o.output, p, d)
}

func (o *deleteOptions) propagation() metav1.DeletionPropagation {
	return map[string]metav1.DeletionPropagation{
		view.CascadeOrphan: metav1.DeletePropagationOrphan, view.CascadeBackground: metav1.DeletePropagationBackground, view.CascadeForeground: metav1.DeletePropagationForeground,
	}[o.cascade]
}

func (c *cluster) lookAtDeletion(ctx context.Context, v view.Snapshot, o deleteOptions) view.Deletion {
	err := c.readSlices(ctx, v.Manifests, view.HistoryOf(v.Package, v.Revisions).Standing()...)
	d := view.BuildDeletion(v, o.cascade)
	d.DryRun = o.dryRun
	if err != nil {
		d.Unknown = append(d.Unknown, "the phases of some objects, and whether they are retained: "+err.Error())
	}
	for _, object := range d.Delete {
		c.addRisks(ctx, &d, object.ObjectReference)
	}
	return d
}

// livesInNamespaces are the kinds that are counted of what lives in a namespace.
var livesInNamespaces = []schema.GroupVersionKind{
	{Version: "v1", Kind: "PersistentVolumeClaim"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
}

// addRisks adds what is lost when an object is deleted, and what of that could not be counted.
func (c *cluster) addRisks(ctx context.Context, d *view.Deletion, ref v1alpha1.ObjectReference) {
	add := func(risk view.DataAtRisk, err error) {
		if err != nil {
			d.Unknown = append(d.Unknown, fmt.Sprintf("how many %s go with %s: %s", risk.What, view.ObjectName(ref), err))
		}
		if err != nil || risk.Count > 0 {
			d.AtRisk = append(d.AtRisk, risk)
		}
	}
	switch (schema.GroupKind{Group: ref.Group, Kind: ref.Kind}) {
	case view.CRDKind:
		n, err := c.customResources(ctx, ref)
		add(view.DataAtRisk{Object: ref, What: ref.Name, Count: n, Protected: true}, err)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"}:
		add(view.DataAtRisk{Object: ref, What: ref.Kind + "s", Count: 1}, nil)
	case schema.GroupKind{Kind: "Namespace"}:
		for _, kind := range livesInNamespaces {
			n, err := c.count(ctx, kind, ref.Name)
			if kind.Kind == "ConfigMap" {
				// Every namespace has that of the root certificate.
				n = max(n-1, min(n, 0))
			}
			add(view.DataAtRisk{Object: ref, What: kind.Kind + "s", Count: n}, err)
		}
	}
}

// customResources counts those of a definition, -1 for an unknown number.
func (c *cluster) customResources(ctx context.Context, ref v1alpha1.ObjectReference) (int64, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: ref.Name}, definition); apierrors.IsNotFound(err) {
		return 0, nil
	} else if err != nil {
		return -1, err
	}
	for i := range definition.Spec.Versions {
		if v := &definition.Spec.Versions[i]; v.Served {
			return c.count(ctx, schema.GroupVersionKind{Group: definition.Spec.Group, Version: v.Name, Kind: definition.Spec.Names.Kind}, "")
		}
	}
	return -1, fmt.Errorf("no version of %s is served", ref.Name)
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// count counts the objects of a kind, in a namespace or in all, from their metadata.
func (c *cluster) count(ctx context.Context, kind schema.GroupVersionKind, namespace string) (int64, error) {
	list := metadataList(kind)
	if err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(500)); err != nil {
		return -1, err
	}
	n := int64(len(list.Items))
	if list.RemainingItemCount != nil {
		n += *list.RemainingItemCount
	}
	return n, nil
}

// confirmDeletion asks, and has the package's name typed where data is lost.
func (a *app) confirmDeletion(o deleteOptions, d view.Deletion) error {
	lost := d.Lost()
	if len(lost) == 0 || o.isDry() || o.allowLoss == d.Package {
		return a.ask(o.writeFlags, "Go on?")
	}
	if o.allowLoss != "" {
		return exitf(CodeUsage, "flag --allow-data-loss: is %q, and the package is %s", o.allowLoss, d.Package)
	}
	if !a.isTerminal(a.In) {
		return exitf(CodeUsage, "data would be lost (%s): give --allow-data-loss=%s to lose it, --cascade=orphan to keep every object, or --dry-run=client to look only", view.RiskText(lost[0]), d.Package)
	}
	answer, err := a.prompt(fmt.Sprintf("Data is lost that no revision can restore. Type the package's name (%s) to go on: ", d.Package))
	if err != nil {
		return err
	}
	if answer != d.Package {
		return exitf(CodeInterrupted, "nothing was changed")
	}
	return nil
}

// awaitGone waits until a package is gone, or its teardown does not go on. Each state of the
// teardown is shown once.
func (a *app) awaitGone(ctx context.Context, c *cluster, pkg *v1alpha1.Package, timeout time.Duration) error {
	shown := ""
	f := c.followPackage(a.note, timeout, pkg.Name)
	err := f.until(ctx, "waiting for the teardown", func(context.Context) (bool, error) {
		now := f.snapshot.Package
		if now == nil || now.UID != pkg.UID {
			return f.complete(), nil
		}
		state, message := view.PackageState(now)
		if now.DeletionTimestamp.IsZero() || message == shown {
			return false, nil
		}
		shown = message
		if view.TerminalTeardowns[state] {
			return false, exitf(CodeTerminal, "package %s: %s: %s", pkg.Name, state, message)
		}
		a.note("%s  %s", view.Stamp(a.now()), message)
		return false, nil
	})
	if errors.Is(err, errOver) {
		return exitf(CodeTimeout, "package %s is not gone after %s: %s", pkg.Name, timeout, shown)
	}
	return err
}
