// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// own makes the resource that describes the mesh an owner of what stands beside it and is no
// object of Istio. The Package stays the controller. The reference is in no revision: it names
// a resource by its UID, and the garbage collector takes off one that has gone, which a
// rollback would put back again and again.
func (k *observer) own(ctx context.Context, istio *v1alpha2.Istio) error {
	for _, dependent := range servicemesh.Dependents(istio) {
		object := front.Metadata(dependent.GroupVersionKind)
		found, err := front.Read(ctx, k.objects, dependent.Key.Namespace, dependent.Key.Name, object)
		if err != nil {
			return err
		}
		if !found || object.Labels[v1alpha1.LabelPackage] != servicemesh.PackageIstio || !object.DeletionTimestamp.IsZero() {
			continue
		}
		if slices.ContainsFunc(object.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == istio.UID }) {
			continue
		}
		if err := k.writer.Apply(ctx, ownedBy(istio, object), front.FieldOwner, client.ForceOwnership); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("making Istio %s an owner of %s %s: %w", istio.Name, dependent.Kind, dependent.Key, err)
		}
	}
	return nil
}

// ownedBy is what is applied of an object to make a resource its owner. The UID keeps an
// object that has gone from being made anew.
func ownedBy(istio *v1alpha2.Istio, object *metav1.PartialObjectMetadata) runtime.ApplyConfiguration {
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(object.GroupVersionKind())
	applied.SetNamespace(object.Namespace)
	applied.SetName(object.Name)
	applied.SetUID(object.UID)
	applied.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha2.GroupVersion.String(), Kind: "Istio", Name: istio.Name, UID: istio.UID,
	}})
	return client.ApplyConfigurationFromUnstructured(applied)
}
