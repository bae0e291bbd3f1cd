// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

// maxPackageName is how long a package's name may be, so that those of its revisions
// fit where names stand.
const maxPackageName = 52

// CheckName says what is wrong with a package's name.
func CheckName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("package name %q: %s", name, problems[0])
	}
	if len(name) > maxPackageName {
		return fmt.Errorf("package name %q has %d characters, and may have %d", name, len(name), maxPackageName)
	}
	return nil
}

// Settings say how to carry out a plan.
type Settings struct {
	Permissions

	// Package is the name of the Package.
	Package string
	// Reason is why, for the history; empty says that it is an import.
	Reason string
	// CreatedBy is who imports, for the history.
	CreatedBy string
	// Fate is what becomes of the release's Secrets.
	Fate Fate
	// DryRun lets the API server check what is created, and creates nothing.
	DryRun bool
}

// Standing is the revision that an earlier import of the release has made, nil when
// there is none. Version 0 stands for any. It fails with a *RefusedError when the
// package does not come from this release, or contains another version.
func (i *Importer) Standing(ctx context.Context, pkg, namespace, name string, version int) (*v1alpha1.Revision, error) {
	found, line, err := i.line(ctx, pkg)
	if err != nil || found == nil {
		return nil, err
	}
	return standing(found, line, namespace, name, version)
}

func standing(pkg *v1alpha1.Package, line history.History, namespace, name string, version int) (*v1alpha1.Revision, error) {
	refused := func(format string, args ...any) error {
		return &RefusedError{Reasons: []string{fmt.Sprintf("package "+pkg.Name+" "+format, args...)}}
	}
	switch front := pkg.Labels[v1alpha1.LabelFront]; {
	case !pkg.DeletionTimestamp.IsZero():
		return nil, refused("is being deleted: wait until it is gone, or choose another name (--package)")
	case front != "":
		return nil, refused("is of front %s: choose another name (--package)", front)
	}
	first := line.Find(1)
	if first != nil && first.Spec.Origin != nil {
		o := first.Spec.Origin
		same := o.Kind == v1alpha1.OriginHelmImport && o.Reference == reference(namespace, name)
		if same && (version == 0 || o.Generation == int64(version)) {
			return first, nil
		}
		if same {
			return nil, refused("has version %d of this release: what runs is changed by a new revision of it, not by another import", o.Generation)
		}
	}
	if line.Highest > 0 {
		return nil, refused("exists and has revisions, and an import makes revision 1: choose another name (--package)")
	}
	return first, nil
}

// line is a package and its revisions; the package is nil when it does not exist.
func (i *Importer) line(ctx context.Context, name string) (*v1alpha1.Package, history.History, error) {
	pkg := &v1alpha1.Package{}
	err := i.Client.Get(ctx, types.NamespacedName{Name: name}, pkg)
	if apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) {
		return nil, history.History{}, nil
	}
	if err != nil {
		return nil, history.History{}, fmt.Errorf("reading package %s: %w", name, err)
	}
	list := &v1alpha1.RevisionList{}
	if err := i.Client.List(ctx, list, client.MatchingFields{"spec.package": name}); err != nil {
		return nil, history.History{}, fmt.Errorf("listing the revisions of package %s: %w", name, err)
	}
	return pkg, history.Sort(pkg, list.Items), nil
}

// Import carries a plan out, and gives the revision that it has made. It fails with
// a *RefusedError when there are refusals, or when an object or the package has
// changed since the plan so that there would be. Whatever interrupts it, doing it
// again completes it.
//
// With DryRun nothing is changed, and there is no revision.
func (i *Importer) Import(ctx context.Context, plan *Plan, s Settings) (*v1alpha1.Revision, error) {
	if reasons := plan.Refusals(s.Permissions); len(reasons) > 0 {
		return nil, &RefusedError{Reasons: reasons}
	}
	if s.DryRun {
		return nil, i.tryOut(ctx, plan, s)
	}
	if err := i.checkNew(ctx, s.Package, plan.Release); err != nil {
		return nil, err
	}
	phases, err := plan.phases()
	if err != nil {
		return nil, err
	}
	// What cannot be stored is found before anything is changed.
	packed, err := i.Contents.Pack(ctx, phases, nil)
	if err != nil {
		return nil, err
	}
	for n := range plan.Objects {
		if err := i.takeOver(ctx, &plan.Objects[n], s.Permissions, s.Fate != FateKeep); err != nil {
			return nil, err
		}
	}
	pkg, line, err := i.ensurePackage(ctx, s.Package)
	if err != nil {
		return nil, err
	}
	if err := i.Contents.Keep(ctx, pkg, packed, nil); err != nil {
		return nil, err
	}
	revision := line.Next(pkg, history.Content{Phases: packed.Phases, Digest: packed.Digest, Origin: plan.origin(s)})
	if err := i.Client.Create(ctx, revision, client.FieldOwner(writer)); err != nil {
		return nil, fmt.Errorf("creating revision %d of package %s: %w", revision.Spec.Revision, pkg.Name, err)
	}
	return revision, nil
}

// checkNew says why the package cannot take the release, nil when it can.
func (i *Importer) checkNew(ctx context.Context, pkg string, r Release) error {
	made, err := i.Standing(ctx, pkg, r.Namespace, r.Name, r.Version)
	if err == nil && made != nil {
		err = &RefusedError{Reasons: []string{"package " + pkg + " has this version of the release already, as revision 1"}}
	}
	return err
}

// ensurePackage makes the package, or finds the one that an import has made before
// it was interrupted.
func (i *Importer) ensurePackage(ctx context.Context, name string) (*v1alpha1.Package, history.History, error) {
	pkg, line, err := i.line(ctx, name)
	if err != nil || pkg != nil {
		return pkg, line, err
	}
	pkg = newPackage(name)
	if err := i.Client.Create(ctx, pkg, client.FieldOwner(writer)); err != nil {
		return nil, line, fmt.Errorf("creating package %s: %w", name, err)
	}
	return pkg, line, nil
}

func newPackage(name string) *v1alpha1.Package {
	return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.FinalizerTeardown}}}
}

// tryOut lets the API server check the package and the revision.
func (i *Importer) tryOut(ctx context.Context, plan *Plan, s Settings) error {
	if err := i.checkNew(ctx, s.Package, plan.Release); err != nil {
		return err
	}
	phases, err := plan.phases()
	if err != nil {
		return err
	}
	// The key has no influence on sizes.
	packed, err := content.Packer{Key: make([]byte, content.KeySize)}.Pack(phases, nil)
	if err != nil {
		return err
	}
	pkg, line, err := i.line(ctx, s.Package)
	if err != nil {
		return err
	}
	if pkg == nil {
		pkg = newPackage(s.Package)
		if err := i.Client.Create(ctx, pkg, client.FieldOwner(writer), client.DryRunAll); err != nil {
			return fmt.Errorf("creating package %s: %w", s.Package, err)
		}
	}
	revision := line.Next(pkg, history.Content{Phases: packed.Phases, Digest: packed.Digest, Origin: plan.origin(s)})
	if err := i.Client.Create(ctx, revision, client.FieldOwner(writer), client.DryRunAll); err != nil {
		return fmt.Errorf("creating revision %d of package %s: %w", revision.Spec.Revision, s.Package, err)
	}
	return nil
}

// Fate is what becomes of the Secrets that Helm keeps a release in.
type Fate string

const (
	// FateKeep leaves them as they are: Helm still knows the release.
	FateKeep Fate = "keep"
	// FateHandover hides them from Helm, by the label owner, and lets them go with the
	// Package.
	FateHandover Fate = "handover"
	// FateDelete deletes them.
	FateDelete Fate = "delete"
)

// ownerStrata is the value of the label owner that hides a release from Helm.
const ownerStrata = "strata"

// Fates are all there are.
func Fates() []Fate { return []Fate{FateKeep, FateHandover, FateDelete} }

// Settle does to the release's Secrets what is to become of them. It is to be called
// once the revision exists, for [FateDelete] once it has succeeded. What is done
// already is not done again.
func (i *Importer) Settle(ctx context.Context, namespace string, secrets []string, name string, fate Fate) error {
	if fate == FateKeep {
		return nil
	}
	pkg, _, err := i.line(ctx, name)
	if err != nil {
		return err
	}
	if pkg == nil {
		return fmt.Errorf("package %s is gone: the Secrets of the Helm release are left as they are", name)
	}
	var errs []error
	for _, secret := range secrets {
		if err := client.IgnoreNotFound(i.settle(ctx, types.NamespacedName{Namespace: namespace, Name: secret}, pkg, fate)); err != nil {
			errs = append(errs, fmt.Errorf("settling Secret %s/%s of the Helm release: %w", namespace, secret, err))
		}
	}
	return errors.Join(errs...)
}

func (i *Importer) settle(ctx context.Context, key types.NamespacedName, pkg *v1alpha1.Package, fate Fate) error {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(secretKind)
	if err := i.Client.Get(ctx, key, secret); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if fate == FateDelete {
		if err := i.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}); err != nil {
			return fmt.Errorf("deleting: %w", err)
		}
		return nil
	}
	changed := secret.DeepCopy()
	changed.Labels[labelOwner] = ownerStrata
	if !slices.ContainsFunc(changed.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == pkg.UID }) {
		changed.OwnerReferences = append(changed.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID,
		})
	}
	if err := i.Client.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{}), client.FieldOwner(writer)); err != nil {
		return fmt.Errorf("handing over: %w", err)
	}
	return nil
}
