// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/revisions"
)

type adoption struct {
	view.AdoptedObject

	current *metav1.PartialObjectMetadata
}

type adoptOptions struct {
	writeFlags

	takeOver bool
}

func (a *app) adoptCommand() *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt PACKAGE [KIND/NAME...]",
		Short: "Make objects that are in a rollout's way the package's own",
		Long: `Make objects that exist already the package's own, so that its target can be
rolled out over them. Without names it is those that stop the rollout
(ObjectCollisions). Others have to be in the target, too.

The objects get the package's owner reference and label, by your rights, not by
the manager's. Nothing else of them is changed here; the rollout then makes them
what the revision says, and they are deleted with the package unless they are
retained. No new revision is made. (To have a package adopt what it finds from
the beginning, set collisionProtection in its content. To take over a Helm
release, use import helm.)

An object that another controller has, or that another package has retained, is
refused without --take-over: the other one may write it again.

Exit codes: 0 they are the package's; 2 usage; 3 refused; 5 an object was
changed meanwhile; 6 there is no such package or object; 7 no cluster answers.

Rights: get packages.strata.run; list revisions.strata.run; get
objectslices.strata.run; get and patch the objects.`,
		Example: `  strata adopt istiod-openshift-gateway --dry-run=client
  strata adopt istiod-openshift-gateway deployment/istiod-openshift-gateway --take-over`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return onePackage(nil, args)
			}
			return nil
		},
		ValidArgsFunction: a.completePackages(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.adopt(ctx, o, packageName(args[0]), args[1:])
		}),
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.takeOver, "take-over", false, "also take objects from another controller or package")
	return cmd
}

func (a *app) adopt(ctx context.Context, o adoptOptions, name string, named []string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	pkg, target := v.Package, view.HistoryOf(v.Package, v.Revisions).Target
	switch {
	case !pkg.DeletionTimestamp.IsZero():
		return exitf(CodeTerminal, "package %s is being deleted", name)
	case target == nil:
		return exitf(CodeNotFound, "package %s has no active revision that could contain an object", name)
	}
	if err := c.readSlices(ctx, v.Manifests, target); err != nil {
		return exitf(CodeFalse, "looking for the objects of revision %d: %w", target.Spec.Revision, err)
	}
	wanted, err := adoptable(target, v.Manifests, named)
	if err != nil {
		return err
	}
	doc := view.Adoption{TypeMeta: view.DocumentType("Adoption"), Package: name, Revision: target.Spec.Revision, DryRun: o.dryRun, Objects: []view.AdoptedObject{}}
	var adoptions []adoption
	for _, it := range wanted {
		object, isOurs, err := c.lookAtAdoption(ctx, pkg, it, o.takeOver)
		if err != nil {
			return err
		}
		if !isOurs {
			adoptions, doc.Objects = append(adoptions, object), append(doc.Objects, object.AdoptedObject)
		}
	}
	p := a.text(o.output)
	view.WriteAdoption(p, doc)
	if len(doc.Objects) > 0 {
		if err := a.ask(o.writeFlags, "Go on?"); err != nil {
			return err
		}
	}
	for _, object := range adoptions {
		if err := c.takeOver(ctx, pkg, object, o.writeFlags); err != nil {
			return err
		}
	}
	if o.isDry() || len(doc.Objects) > 0 {
		o.outcome(p, "They belong to the package now; the rollout continues.")
	}
	return a.end(o.output, p, doc)
}

// adoptable are the objects of the target that are named; without names those that
// collide.
func adoptable(target *v1alpha1.Revision, held view.Manifests, named []string) ([]view.Item, error) {
	collides := map[revisions.ObjectID]bool{}
	for _, object := range target.Status.Objects {
		collides[view.IdentityOf(object.ObjectReference)] = object.Reason == "Collision"
	}
	var wanted []view.Item
	all := slices.Concat(view.ItemsOf(target, held)...)
	for _, it := range all {
		if len(named) == 0 && collides[view.IdentityOf(it.Ref)] {
			wanted = append(wanted, it)
		}
	}
	for _, text := range named {
		found := false
		for _, it := range all {
			if view.NamesObject(text, it.Ref) {
				wanted, found = append(wanted, it), true
			}
		}
		if !found {
			return nil, exitf(CodeNotFound, "revision %d has no object %s: name it as KIND/NAME or KIND/NAMESPACE/NAME, as `strata tree` shows it", target.Spec.Revision, text)
		}
	}
	if len(wanted) == 0 {
		return nil, exitf(CodeNotFound, "no object blocks revision %d; name objects to adopt them in advance", target.Spec.Revision)
	}
	return wanted, nil
}

// lookAtAdoption says whose an object is, and whether it is the package's already.
func (c *cluster) lookAtAdoption(ctx context.Context, pkg *v1alpha1.Package, it view.Item, takeOver bool) (object adoption, isOurs bool, err error) {
	kind := schema.GroupVersionKind{Group: it.Ref.Group, Version: it.Ref.Version, Kind: it.Ref.Kind}
	current, err := c.metadata(ctx, kind, it.Ref.Namespace, it.Ref.Name)
	if apierrors.IsNotFound(err) {
		return object, false, exitf(CodeNotFound, "%s does not exist: the rollout creates it", view.ObjectName(it.Ref))
	}
	if err != nil {
		return object, false, c.explain("reading "+view.ObjectName(it.Ref), err)
	}
	object = adoption{AdoptedObject: view.AdoptedObject{ObjectReference: it.Ref, Retained: it.Retained, Unused: it.Unused}, current: current}
	owner, label := metav1.GetControllerOf(current), current.Labels[v1alpha1.LabelPackage]
	switch {
	case owner != nil && owner.UID == pkg.UID:
		return object, true, nil
	case owner != nil:
		object.From = owner.Kind + " " + owner.Name
	case label != "" && label != pkg.Name:
		object.From = "Package " + label
	}
	if object.From != "" && !takeOver {
		return object, false, exitf(CodeTerminal, "%s is that of %s: remove it there, or give --take-over", view.ObjectName(it.Ref), object.From)
	}
	return object, false, nil
}

// takeOver makes an object the package's, on condition that it is still what was
// looked at.
func (c *cluster) takeOver(ctx context.Context, pkg *v1alpha1.Package, object adoption, o writeFlags) error {
	var owners []metav1.OwnerReference
	for _, owner := range object.current.OwnerReferences {
		if owner.Controller == nil || !*owner.Controller {
			owners = append(owners, owner)
		}
	}
	reference := *metav1.NewControllerRef(pkg, v1alpha1.GroupVersion.WithKind("Package"))
	reference.BlockOwnerDeletion = nil
	change := map[string]any{"metadata": map[string]any{
		"uid": object.current.UID, "resourceVersion": object.current.ResourceVersion,
		"ownerReferences": append(owners, reference), "labels": map[string]any{v1alpha1.LabelPackage: pkg.Name},
	}}
	err := c.merge(ctx, object.current.DeepCopy(), change, o)
	if apierrors.IsConflict(err) {
		return exitf(CodeSuperseded, "%s has changed: check it again before adopting it", view.ObjectName(object.ObjectReference))
	}
	return c.explain("adopting "+view.ObjectName(object.ObjectReference), err)
}
