// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/front"
)

type uninstallOptions struct {
	deleteOptions

	check     bool
	namespace string
}

func (a *app) uninstallCommand() *cobra.Command {
	o := uninstallOptions{deleteOptions: deleteOptions{cascade: view.CascadeOrphan}}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Release every package, to take Strata out of the cluster",
		Long: `Release every package: its objects stay, without owner reference and label, and
the package and its revisions go, as with "strata delete PACKAGE
--cascade=orphan". No workload is deleted or restarted. Then the command names
what is left to remove, with the commands for it: the definitions of Strata and
the manager.

What would happen is shown first, and has to be confirmed. --check ends there,
with code 1 when something stands in the way: a front that runs and makes its
packages again, a package that is paused or whose objects are being deleted, a
package, revision or slice with a finalizer of another controller, a manager
that does not run. Without --check nothing is changed in that case either.

Exit codes: 0 every package is released, with --check: nothing stands in the
way; 1 something does; 2 usage; 3 a release is stuck; 4 the time was over; 6
Strata is not installed; 7 no cluster answers.

Rights: list, watch and delete packages.strata.run; list and watch
revisions.strata.run and objectslices.strata.run; get leases.coordination.k8s.io
and list deployments.apps in the namespace of the manager; list the resources of
fronts.`,
		Example: `  strata uninstall --check
  strata uninstall
  strata uninstall --yes --timeout 10m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("uninstall takes Strata itself away: `strata delete %s` deletes a package", args[0])
			}
			return nil
		},
		RunE: a.run(func(ctx context.Context, _ []string) error {
			if o.check && !o.isDry() {
				o.dryRun = dryRunClient
			}
			return a.uninstall(ctx, o)
		}),
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.check, "check", false, "show what would happen and what blocks it, and change nothing")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "for how long to wait for each package, and then for finalizers, 0 without limit")
	addManagerNamespace(cmd, &o.namespace)
	return cmd
}

func (a *app) uninstall(ctx context.Context, o uninstallOptions) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	packages, err := c.packages(ctx, labels.Everything())
	if err != nil {
		return err
	}
	d, err := a.lookAtUninstallation(ctx, c, packages, o.namespace)
	if err != nil {
		return err
	}
	p := a.text(o.output)
	view.WriteUninstallation(p, d)
	if len(d.Obstacles) > 0 {
		return cmp.Or(a.end(o.output, p, d), exitf(CodeFalse, "nothing was changed: what blocks it has to be removed first: %s", strings.Join(d.Obstacles, "; ")))
	}
	if err := a.ask(o.writeFlags, "Release the packages?"); err != nil {
		return err
	}
	if err := a.releaseAll(ctx, c, packages, o.deleteOptions); err != nil {
		return err
	}
	d.Released = !o.isDry()
	if d.Released {
		p.Line(output.Span{Text: "Every package is released. What is left to remove:"})
	} else {
		p.Line(output.Span{Text: "Nothing blocks it. What is left to remove after the release:"})
	}
	for _, command := range d.Remaining {
		p.Line(output.Span{Text: "  " + command})
	}
	return a.end(o.output, p, d)
}

// releaseAll releases packages as `strata delete --cascade=orphan --wait` does, and fails
// when there are packages afterwards.
func (a *app) releaseAll(ctx context.Context, c *cluster, packages []v1alpha1.Package, o deleteOptions) error {
	for i := range packages {
		if err := c.deletePackage(ctx, &packages[i], o.propagation(), o.writeFlags); err != nil {
			return err
		}
	}
	if o.isDry() {
		return nil
	}
	for i := range packages {
		if err := a.awaitGone(ctx, c, &packages[i], o.timeout); err != nil {
			return err
		}
		a.note("Package %s is released.", packages[i].Name)
	}
	left, err := c.packages(ctx, labels.Everything())
	if err != nil {
		return err
	}
	names := make([]string, len(left))
	for i := range left {
		names[i] = left[i].Name
	}
	if len(names) > 0 {
		return exitf(CodeFalse, "created in the meantime: package %s; see `strata uninstall --check`", strings.Join(names, ", "))
	}
	return a.awaitFinalizers(ctx, c, o.timeout)
}

// ownKinds are the kinds of objects that go with Strata's definitions once the packages are released.
var ownKinds = []string{"Package", "Revision", "ObjectSlice"}

// awaitFinalizers waits until no revision and no slice has a finalizer, with which its definition
// could not be deleted.
func (a *app) awaitFinalizers(ctx context.Context, c *cluster, timeout time.Duration) error {
	held := map[string][]string{}
	f := c.follow(a.note, timeout)
	for _, kind := range ownKinds[1:] {
		f.feeds = append(f.feeds, feed{
			newList: func() client.ObjectList { return metadataList(v1alpha1.GroupVersion.WithKind(kind)) },
			set: func(objects []any) {
				held[kind] = nil
				for _, object := range of[*metav1.PartialObjectMetadata](objects) {
					if len(object.Finalizers) > 0 {
						held[kind] = append(held[kind], fmt.Sprintf("%s %s (%s)", kind, object.Name, strings.Join(object.Finalizers, ", ")))
					}
				}
				slices.Sort(held[kind])
			},
		})
	}
	left := func() []string { return append(slices.Clone(held["Revision"]), held["ObjectSlice"]...) }
	err := f.until(ctx, "waiting for finalizers", func(context.Context) (bool, error) {
		return f.complete() && len(left()) == 0, nil
	})
	if errors.Is(err, errOver) {
		return exitf(CodeTimeout, "after %s these still have finalizers, and the definitions of Strata cannot be deleted before they are gone: %s", timeout, strings.Join(left(), ", "))
	}
	return err
}

// finalized says which objects of Strata have finalizers that a release of the packages does not
// take off, and whether there are some that only a manager takes off.
func (c *cluster) finalized(ctx context.Context) (obstacles []string, needsManager bool, err error) {
	for _, kind := range ownKinds {
		list := metadataList(v1alpha1.GroupVersion.WithKind(kind))
		if err := c.client.List(ctx, list); err != nil {
			return nil, false, c.explain("listing "+listed(list), err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			name := fmt.Sprintf("%s.%s/%s", strings.ToLower(kind), v1alpha1.GroupVersion.Group, object.Name)
			for _, finalizer := range object.Finalizers {
				switch {
				case finalizer == metav1.FinalizerOrphanDependents, finalizer == metav1.FinalizerDeleteDependents:
				case finalizer != v1alpha1.FinalizerTeardown:
					obstacles = append(obstacles, fmt.Sprintf("%s has the finalizer %s, and cannot be deleted before its controller, or `kubectl edit %s`, takes it off", name, finalizer, name))
				case kind == "Revision" && object.DeletionTimestamp.IsZero() && len(object.OwnerReferences) == 0:
					obstacles = append(obstacles, fmt.Sprintf("%s belongs to no package, and has the finalizer %s: `kubectl delete %s`", name, finalizer, name))
				default:
					needsManager = true
				}
			}
		}
	}
	return obstacles, needsManager, nil
}

// lookAtUninstallation finds what a release of all packages would do, and what stands in
// its way.
func (a *app) lookAtUninstallation(ctx context.Context, c *cluster, packages []v1alpha1.Package, namespace string) (view.Uninstallation, error) {
	d := view.Uninstallation{TypeMeta: view.DocumentType("Uninstallation"), Packages: []view.PackageToRelease{}, Resources: []view.HeldResource{}, Obstacles: []string{}}
	for i := range packages {
		pkg := &packages[i]
		revisions, err := c.revisions(ctx, pkg.Name)
		if err != nil {
			return d, err
		}
		objects := view.BuildDeletion(view.Snapshot{Package: pkg, Revisions: revisions}, view.CascadeOrphan).Retain
		d.Packages = append(d.Packages, view.PackageToRelease{Name: pkg.Name, Front: pkg.Labels[v1alpha1.LabelFront], Objects: len(objects)})
		d.Obstacles = append(d.Obstacles, view.StandsInTheWay(pkg, a.now())...)
	}
	for _, f := range controller.Fronts {
		held, err := c.heldResources(ctx, f)
		if err != nil {
			return d, err
		}
		d.Resources = append(d.Resources, held...)
	}
	fronts, err := c.frontsThatRun(ctx, namespace)
	if err != nil {
		return d, err
	}
	for _, front := range slices.DeleteFunc(slices.Clone(controller.AllFronts), func(f string) bool { return !slices.Contains(fronts, f) }) {
		if about := d.Of(front); len(about) > 0 {
			d.Obstacles = append(d.Obstacles, fmt.Sprintf("front %s runs, and makes packages again (%s): remove its component from your kustomization, and apply that", front, strings.Join(about, ", ")))
		}
	}
	obstacles, needsManager, err := c.finalized(ctx)
	if err != nil {
		return d, err
	}
	d.Obstacles = append(d.Obstacles, obstacles...)
	if len(packages) > 0 || needsManager {
		leads, err := c.managerLeads(ctx, namespace)
		if err != nil {
			return d, err
		}
		if !leads {
			d.Obstacles = append(d.Obstacles, fmt.Sprintf("no manager renews the lease %s in namespace %s: start it, as it releases packages and their revisions (kubectl get deployment -n %s); a cluster of `strata up` goes with `strata down`", controller.LeaseName, namespace, namespace))
		}
	}
	d.Remaining = remaining(d.Resources)
	return d, nil
}

// heldResources are the resources of a front that have its finalizer, which stays where the front
// runs no more; none when the front sets none, or the cluster does not serve the kind.
func (c *cluster) heldResources(ctx context.Context, of front.Registration) ([]view.HeldResource, error) {
	if of.Finalizer == "" {
		return nil, nil
	}
	list := metadataList(of.Kind)
	err := c.client.List(ctx, list)
	if meta.IsNoMatchError(err) || isMissingKind(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("listing the resources of front "+of.Name, err)
	}
	var held []view.HeldResource
	for i := range list.Items {
		if at := slices.Index(list.Items[i].Finalizers, of.Finalizer); at >= 0 {
			held = append(held, view.HeldResource{Front: of.Name, Finalizer: of.Finalizer, At: at, ObjectReference: v1alpha1.ObjectReference{
				Group: of.Kind.Group, Version: of.Kind.Version, Kind: of.Kind.Kind, Namespace: list.Items[i].Namespace, Name: list.Items[i].Name,
			}})
		}
	}
	return held, nil
}

// frontsThatRun are those that the managers' Deployments switch on by their arguments: all where
// there is no Deployment to tell.
func (c *cluster) frontsThatRun(ctx context.Context, namespace string) ([]string, error) {
	list := &appsv1.DeploymentList{}
	err := c.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "strata", "app.kubernetes.io/component": "manager"})
	if err != nil {
		return nil, c.explain("listing the Deployments of the manager", err)
	}
	if len(list.Items) == 0 {
		return controller.AllFronts, nil
	}
	var fronts []string
	for i := range list.Items {
		for _, container := range list.Items[i].Spec.Template.Spec.Containers {
			if container.Name == "manager" {
				fronts = append(fronts, controller.RunningFronts(container.Args)...)
			}
		}
	}
	return fronts, nil
}

var errNotHeld = errors.New("the lease is not held")

// managerLeads says whether a manager renews its lease: it is checked until it changes,
// as the clocks of this machine and of the manager may differ.
func (c *cluster) managerLeads(ctx context.Context, namespace string) (bool, error) {
	var first *metav1.MicroTime
	err := wait.PollUntilContextTimeout(ctx, time.Second, controller.LeaseTerm, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: controller.LeaseName}, lease); err != nil {
			return false, err
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return false, errNotHeld
		}
		first = cmp.Or(first, lease.Spec.RenewTime)
		return !lease.Spec.RenewTime.Equal(first), nil
	})
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("looking for a manager: %w", ctx.Err())
	case wait.Interrupted(err), errors.Is(err, errNotHeld), apierrors.IsNotFound(err):
		return false, nil
	}
	return err == nil, c.explain("reading the lease of the manager", err)
}

// remaining are the commands that remove what a release of all packages leaves of Strata.
func remaining(held []view.HeldResource) []string {
	var commands []string
	for _, r := range held {
		namespace := ""
		if r.Namespace != "" {
			namespace = " -n " + r.Namespace
		}
		path := fmt.Sprintf("/metadata/finalizers/%d", r.At)
		commands = append(commands, fmt.Sprintf(`kubectl patch %s.%s %s%s --type=json -p '[{"op":"test","path":%q,"value":%q},{"op":"remove","path":%q}]'`,
			strings.ToLower(r.Kind), r.Group, r.Name, namespace, path, r.Finalizer, path))
	}
	return append(commands,
		"kubectl annotate crd "+strings.Join(controller.Definitions, " ")+" "+v1alpha1.AnnotationAllowDeletion+"=",
		"kubectl delete -k config/default")
}
