// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/istio"
)

// purge deletes what a mesh leaves in place that is gone, if its resource asks for that: the CRDs,
// and the namespace with the CA in it. Custom resources of users, which would go with the CRDs,
// block it as they block the deletion of the mesh.
func (k *observer) purge(ctx context.Context, group front.Group[*v1alpha2.Istio], forced bool) error {
	asked := slices.ContainsFunc(group.Deleting, func(istio *v1alpha2.Istio) bool {
		return istio.Namespace == v1alpha2.Namespace && istio.Annotations[v1alpha2.AnnotationPurge] == "true"
	})
	if !asked {
		return nil
	}
	if !forced {
		found, err := k.blockers.Confirm(ctx)
		if err == nil {
			err = servicemesh.Blocking(found)
		}
		if err != nil {
			return fmt.Errorf("deleting the CRDs of Istio: %w", err)
		}
		k.blockers.Stop()
	}
	errs := make([]error, 0, len(istio.CRDNames())+1)
	for _, name := range istio.CRDNames() {
		errs = append(errs, k.purgeOne(ctx, front.Definition().GroupVersionKind(), name, servicemesh.PackageCRDs))
	}
	namespace := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	return errors.Join(append(errs, k.purgeOne(ctx, namespace, servicemesh.IstioNamespace, servicemesh.PackageIstio))...)
}

// purgeOne deletes an object that a package has left in place. One that another package has taken
// over since stays.
func (k *observer) purgeOne(ctx context.Context, kind schema.GroupVersionKind, name, pkg string) error {
	object := front.Metadata(kind)
	found, err := front.Read(ctx, k.live, "", name, object)
	if err != nil || !found || object.Labels[v1alpha1.LabelPackage] != pkg || metav1.GetControllerOf(object) != nil {
		return err
	}
	if err := k.writer.Delete(ctx, object, client.Preconditions{UID: &object.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", kind.Kind, name, err)
	}
	log.FromContext(ctx).Info("Deleted what the mesh has left in place", "kind", kind.Kind, "name", name)
	return nil
}
