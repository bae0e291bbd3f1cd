// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
)

// withData are kinds that are never pruned: what they contain goes with them.
var withData = []string{"CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"}

// prune deletes the objects of the release that its package does not have, as Helm does in an
// upgrade. A release that cannot be read, or is not deployed, has none.
func (i Installed) prune(ctx context.Context, wanted []*unstructured.Unstructured) error {
	choice, err := releases{i.Live}.choose(ctx, i.Namespace, i.Name)
	if err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return err
		}
		log.FromContext(ctx).Info("No object of the Helm release is pruned", "release", i.Namespace+"/"+i.Name, "reason", err.Error())
		return nil
	}
	manifests, err := chart.Installed("the manifest of "+choice.Release.String(), []byte(choice.Release.Manifest))
	if err != nil {
		return err
	}
	for _, object := range manifests {
		namespaced, err := i.Client.IsObjectNamespaced(object)
		if meta.IsNoMatchError(err) {
			continue // there can be no object of a kind that is not served
		}
		if err != nil {
			return fmt.Errorf("looking up the kind of %s: %w", plain.NameOf(object), err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(i.Namespace)
		}
		id := revisions.IDOf(object)
		if slices.Contains(withData, id.Kind) || slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool { return revisions.IDOf(w) == id }) {
			continue
		}
		if err := i.pruneOne(ctx, object); err != nil {
			return fmt.Errorf("pruning %s of a Helm release: %w", plain.NameOf(object), err)
		}
	}
	return nil
}

// pruneOne deletes an object that is the release's still: by its annotations, and by having no
// controller and no policy to be kept.
func (i Installed) pruneOne(ctx context.Context, object *unstructured.Unstructured) error {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(object.GroupVersionKind())
	if err := i.Live.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}
	_, packaged := current.Labels[v1alpha1.LabelPackage]
	if current.Annotations[annotationReleaseName] != i.Name || current.Annotations[annotationReleaseNamespace] != i.Namespace ||
		current.Annotations[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep || packaged || metav1.GetControllerOf(current) != nil {
		return nil
	}
	err := i.Client.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	log.FromContext(ctx).Info("Deleted an object of a Helm release that its package does not have", "release", i.Namespace+"/"+i.Name, "object", plain.NameOf(object))
	return nil
}
