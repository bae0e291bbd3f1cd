// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/history"
)

// Uninstallation is the document of `strata uninstall`: which packages are released, what
// stands in the way, and what is left to remove.
type Uninstallation struct {
	metav1.TypeMeta `json:",inline"`

	// Packages are released: their objects stay.
	Packages []PackageToRelease `json:"packages"`
	// Resources are those of fronts that have a finalizer of Strata: they stay, and cannot
	// be deleted before it is taken off.
	Resources []HeldResource `json:"resources"`
	// Obstacles say what stands in the way. Nothing is changed before there is none.
	Obstacles []string `json:"obstacles"`
	// Remaining are the commands that remove the rest once the packages are released.
	Remaining []string `json:"remaining"`
	// Released is true once every package is released.
	Released bool `json:"released"`
}

// PackageToRelease is a package that an uninstallation releases.
type PackageToRelease struct {
	// Name is the Package's name.
	Name string `json:"name"`
	// Front is the front that made it, empty when none did.
	Front string `json:"front,omitempty"`
	// Objects is how many objects stay.
	Objects int `json:"objects"`
}

// HeldResource is a resource of a front that has the front's finalizer.
type HeldResource struct {
	v1alpha1.ObjectReference `json:",inline"`

	// Front is the front that has put the finalizer there.
	Front string `json:"front"`
	// Finalizer is the finalizer, and At its place among the finalizers.
	Finalizer string `json:"finalizer"`
	At        int    `json:"at"`
}

// of are the packages and resources of a front.
func (d *Uninstallation) of(front string) []string {
	var names []string
	for _, pkg := range d.Packages {
		if pkg.Front == front {
			names = append(names, "package "+pkg.Name)
		}
	}
	for _, resource := range d.Resources {
		if resource.Front == front {
			names = append(names, objectName(resource.ObjectReference))
		}
	}
	return names
}

// standsInTheWay says why a package cannot be released as it is.
func standsInTheWay(pkg *v1alpha1.Package, now time.Time) []string {
	var reasons []string
	if pause := history.PauseOf(pkg, now); pause != nil {
		reasons = append(reasons, fmt.Sprintf("package %s is %s: `strata resume %s` ends that", pkg.Name, pauseText(pause), pkg.Name))
	}
	if pkg.DeletionTimestamp != nil && pkg.Spec.DeletionPolicy != v1alpha1.DeletionPolicyOrphan && !slices.Contains(pkg.Finalizers, metav1.FinalizerOrphanDependents) {
		reasons = append(reasons, fmt.Sprintf("package %s is being deleted with its objects: `strata wait %s --for deleted` waits for that", pkg.Name, pkg.Name))
	}
	return reasons
}

// heldResources are the resources of a front that have its finalizer; none when the
// cluster does not serve the kind.
func (c *cluster) heldResources(ctx context.Context, of controller.HeldKind) ([]HeldResource, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.Kind.GroupVersion().WithKind(of.Kind.Kind + "List"))
	err := c.client.List(ctx, list)
	if meta.IsNoMatchError(err) || isMissingKind(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("listing the resources of front "+of.Front, err)
	}
	var held []HeldResource
	for i := range list.Items {
		if at := slices.Index(list.Items[i].Finalizers, of.Finalizer); at >= 0 {
			held = append(held, HeldResource{Front: of.Front, Finalizer: of.Finalizer, At: at, ObjectReference: v1alpha1.ObjectReference{
				Group: of.Kind.Group, Version: of.Kind.Version, Kind: of.Kind.Kind, Namespace: list.Items[i].Namespace, Name: list.Items[i].Name,
			}})
		}
	}
	return held, nil
}

// frontsThatRun are those that the managers' Deployments switch on: all where one has no
// such flag, or where there is no Deployment to tell.
func (c *cluster) frontsThatRun(ctx context.Context, namespace string) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DeploymentList"})
	err := c.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "strata", "app.kubernetes.io/component": "manager"})
	if err != nil {
		return nil, c.explain("listing the Deployments of the manager", err)
	}
	if len(list.Items) == 0 {
		return controller.AllFronts, nil
	}
	var fronts []string
	for i := range list.Items {
		containers, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "template", "spec", "containers")
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			args, _, _ := unstructured.NestedStringSlice(fields, "args")
			given := slices.DeleteFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "--fronts=") })
			if fields["name"] == "manager" && len(given) == 0 {
				return controller.AllFronts, nil
			}
			for _, arg := range given {
				fronts = append(fronts, strings.Split(strings.TrimPrefix(arg, "--fronts="), ",")...)
			}
		}
	}
	return fronts, nil
}

// errNotHeld is that no manager holds the lease.
var errNotHeld = errors.New("the lease is not held")

// managerLeads says whether a manager renews its lease: it is looked at until it changes,
// as the clocks of this machine and of the manager may differ.
func (c *cluster) managerLeads(ctx context.Context, namespace string) (bool, error) {
	first := ""
	err := wait.PollUntilContextTimeout(ctx, time.Second, controller.LeaseTerm, true, func(ctx context.Context) (bool, error) {
		lease := &unstructured.Unstructured{}
		lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: controller.LeaseName}, lease); err != nil {
			return false, err
		}
		if holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity"); holder == "" {
			return false, errNotHeld
		}
		renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
		if first == "" {
			first = renewed
		}
		return renewed != first, nil
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
func remaining(held []HeldResource) []string {
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

// writeUninstallation writes what would happen.
func writeUninstallation(p *output.Printer, d Uninstallation) {
	if len(d.Packages) == 0 {
		p.Line(output.Span{Text: "There are no packages to release."})
	} else {
		p.Line(output.Span{Text: "Packages that are released; all of their objects stay:"})
	}
	for _, pkg := range d.Packages {
		text := pkg.Name + ", " + countOf(pkg.Objects, "object")
		if pkg.Front != "" {
			text += ", made by front " + pkg.Front
		}
		p.Line(output.Span{Text: "  = ", Style: output.Faint}, output.Span{Text: text})
	}
	if len(d.Resources) > 0 {
		p.Line(output.Span{Text: "Resources of fronts that stay, with a finalizer that is to be taken off:"})
	}
	for _, r := range d.Resources {
		p.Line(output.Span{Text: "  = ", Style: output.Faint}, output.Span{Text: objectName(r.ObjectReference)})
	}
}
