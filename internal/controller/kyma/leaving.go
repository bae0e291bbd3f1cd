// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render/kyma"
)

// observeLeaving looks for what keeps the mesh from being taken away.
func (k *observer) observeLeaving(ctx context.Context, group front.Group[*v1alpha2.Istio]) (observed, error) {
	facts := observed{}
	// No mesh is wanted that would depend on what was watched for it.
	k.pins.Begin()
	k.pins.End()
	installed := slices.ContainsFunc(group.Existing, func(p v1alpha1.Package) bool {
		return p.Name == kyma.PackageIstio && p.DeletionTimestamp.IsZero()
	})
	forced := slices.ContainsFunc(group.Leaving, func(istio *v1alpha2.Istio) bool {
		return istio.Annotations[v1alpha2.AnnotationForceDelete] == "true"
	})
	if !installed || forced {
		return facts, nil
	}
	found, err := k.customResources(ctx)
	if err != nil {
		return facts, err
	}
	if facts.Blocked = kyma.Blocking(found); facts.Blocked == nil {
		return facts, nil
	}
	facts.Again = blockedInterval
	if text := facts.Blocked.Error(); text != k.told {
		k.told = text
		log.FromContext(ctx).Info("Deletion is blocked by custom resources", "reason", text)
	}
	return facts, nil
}

// customResources are those of Istio, of the kinds that can block a deletion.
func (k *observer) customResources(ctx context.Context) ([]kyma.CustomResource, error) {
	var all []kyma.CustomResource
	var errs []error
	for _, kind := range kyma.BlockingKinds {
		list := &metav1.PartialObjectMetadataList{}
		for more := true; more; more = list.Continue != "" {
			next := list.Continue
			list = front.MetadataList(kind)
			err := k.live.List(ctx, list, client.Limit(listPage), client.Continue(next))
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				break // the kind is not served, so that there is none of it
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err))
				break
			}
			for i := range list.Items {
				o := &list.Items[i]
				all = append(all, kyma.CustomResource{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels})
			}
		}
	}
	return all, errors.Join(errs...)
}
