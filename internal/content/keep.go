// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// Grace is how long what a writer has kept is not released, whether revisions
	// refer to it or not: so long a writer may take to create its revision.
	Grace = time.Hour

	// tries is how many times something is checked again that has changed between
	// a read and a write.
	tries = 4
)

// Keep makes sure that everything exists that the phases of packed content refer
// to, is owned by the package, and stays for at least half of [Grace]: the revision
// that refers to it has to be created after that. What exists is not written again.
//
// What the standing revision refers to stays with it anyhow. It is the package's
// newest active revision, nil if there is none.
func (c *Store) Keep(ctx context.Context, pkg *v1alpha1.Package, packed Packed, standing *v1alpha1.Revision) error {
	held := map[Reference]bool{}
	if standing != nil {
		for _, reference := range References(standing.Spec.Phases) {
			held[reference] = true
		}
	}
	for i := range packed.Slices {
		reference := Reference{Name: packed.Slices[i].Name}
		err := c.keep(ctx, pkg, reference, held[reference], func() error {
			slice := packed.Slices[i].DeepCopy()
			slice.ObjectMeta = c.owned(pkg, slice.ObjectMeta)
			slice.Labels = map[string]string{v1alpha1.LabelPackage: pkg.Name}
			return c.Client.Create(ctx, slice)
		})
		if err != nil {
			return err
		}
	}
	for i := range packed.Secrets {
		reference := Reference{Secret: true, Name: packed.Secrets[i].Name}
		err := c.keep(ctx, pkg, reference, held[reference], func() error {
			secret := packed.Secrets[i].DeepCopy()
			secret.ObjectMeta = c.owned(pkg, secret.ObjectMeta)
			return c.createSecret(ctx, *secret)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// owned are the metadata of something new that the package keeps. A Secret has no
// label: informers of managed Secrets select by it, and would hold what it holds.
func (c *Store) owned(pkg *v1alpha1.Package, metadata metav1.ObjectMeta) metav1.ObjectMeta {
	metadata.OwnerReferences = []metav1.OwnerReference{ownerReference(pkg)}
	metadata.Annotations = map[string]string{v1alpha1.AnnotationKeptAt: c.Now().UTC().Format(time.RFC3339)}
	return metadata
}

func ownerReference(pkg *v1alpha1.Package) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID}
}

// OwnedBy says whether the package's owner reference stands on an object.
func OwnedBy(object client.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == uid })
}

// KeptAt is when a writer has kept an object last; what says nothing about that was
// kept when it was created.
func KeptAt(object client.Object) time.Time {
	kept, err := time.Parse(time.RFC3339, object.GetAnnotations()[v1alpha1.AnnotationKeptAt])
	if err != nil {
		return object.GetCreationTimestamp().Time
	}
	return kept
}

// keep makes sure of one slice or Secret.
func (c *Store) keep(ctx context.Context, pkg *v1alpha1.Package, reference Reference, held bool, create func() error) error {
	var err error
	for range tries {
		current, key := c.Metadata(reference)
		switch err = c.Live.Get(ctx, key, current); {
		case apierrors.IsNotFound(err):
			err = create()
		case err != nil:
		default:
			err = c.join(ctx, pkg, current, held)
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("keeping %s: %w", reference, err)
	}
	return nil
}

// join makes the package one of those that keep what exists. What it joins first it
// looks into: nothing is built on what does not hold what its name says.
func (c *Store) join(ctx context.Context, pkg *v1alpha1.Package, current *metav1.PartialObjectMetadata, held bool) error {
	if !OwnedBy(current, pkg.UID) {
		if err := c.check(ctx, ReferenceTo(current)); err != nil {
			return err
		}
	} else if held || c.Now().Sub(KeptAt(current)) < Grace/2 {
		return nil
	}
	return c.patch(ctx, current, func(changed *metav1.PartialObjectMetadata) {
		if !OwnedBy(changed, pkg.UID) {
			changed.OwnerReferences = append(changed.OwnerReferences, ownerReference(pkg))
		}
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha1.AnnotationKeptAt, c.Now().UTC().Format(time.RFC3339))
	})
}

func (c *Store) check(ctx context.Context, reference Reference) error {
	var err error
	if reference.Secret {
		_, err = c.Secret(ctx, reference.Name)
	} else {
		_, err = c.Slice(ctx, reference.Name)
	}
	return err
}

// Adopt puts the package's owner reference on what its revisions refer to and
// another client has made or restored. The metadata may come from a cache.
func (c *Store) Adopt(ctx context.Context, pkg *v1alpha1.Package, current *metav1.PartialObjectMetadata) error {
	err := c.patch(ctx, current, func(changed *metav1.PartialObjectMetadata) {
		changed.OwnerReferences = append(changed.OwnerReferences, ownerReference(pkg))
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("adopting %s: %w", ReferenceTo(current), err)
	}
	return nil
}

// patch changes metadata, on condition that they are still what they were.
func (c *Store) patch(ctx context.Context, current *metav1.PartialObjectMetadata, change func(changed *metav1.PartialObjectMetadata)) error {
	changed := current.DeepCopy()
	change(changed)
	return c.Client.Patch(ctx, changed, client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{}))
}
