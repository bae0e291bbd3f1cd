// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Release takes the package's owner reference off what none of its revisions
// refers to, and deletes it when that was the last one. It reads it live, and leaves
// alone what was kept within [Grace]. What changes meanwhile is a conflict.
func (c *Store) Release(ctx context.Context, pkg *v1alpha1.Package, reference Reference) error {
	current, key := c.Metadata(reference)
	err := c.Live.Get(ctx, key, current)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", reference, err)
	case !OwnedBy(current, pkg.UID), current.DeletionTimestamp != nil, c.Now().Sub(KeptAt(current)) < Grace:
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(current.OwnerReferences), func(o metav1.OwnerReference) bool { return o.UID == pkg.UID })
	if len(others) > 0 {
		err = c.patch(ctx, current, func(changed *metav1.PartialObjectMetadata) { changed.OwnerReferences = others })
	} else {
		err = c.Client.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing %s: %w", reference, err)
	}
	return nil
}
