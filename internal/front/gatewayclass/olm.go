// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front"
)

// Kinds of OLM. Where it is not installed there are none of them.
var (
	kindSubscription = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"}
	kindInstallPlan  = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "InstallPlan"}
)

// olm answers what OLM is about to manage, and manages.
type olm interface {
	// HasSubscription says whether a subscription exists.
	HasSubscription(ctx context.Context, s Subscription) (bool, error)
	// HasInstallPlan says whether an install plan in any namespace carries the label.
	HasInstallPlan(ctx context.Context, label string) (bool, error)
}

// living are the subscriptions that the CRDs name and that exist, or have an install
// plan. Without OLM there are none; an error says that it is not known.
func living(ctx context.Context, from olm, crds []CRD) (map[Subscription]bool, error) {
	alive := map[Subscription]bool{}
	for _, crd := range crds {
		for _, s := range crd.Subscriptions() {
			if _, known := alive[s]; known {
				continue
			}
			exists, err := from.HasInstallPlan(ctx, s.Label())
			if err == nil && !exists {
				exists, err = from.HasSubscription(ctx, s)
			}
			if err != nil {
				return nil, fmt.Errorf("finding out whether subscription %s exists: %w", s, err)
			}
			alive[s] = exists
		}
	}
	return alive, nil
}

// olmReader reads metadata of OLM's kinds.
type olmReader struct {
	client.Reader

	served func(kind schema.GroupVersionKind) (bool, error)
}

// Orphaned are the subscriptions that an operator before this one has made, and marked.
func (r *olmReader) Orphaned(ctx context.Context) ([]Subscription, error) {
	if served, err := r.served(kindSubscription); err != nil || !served {
		return nil, err
	}
	list := front.MetadataList(kindSubscription)
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing subscriptions: %w", err)
	}
	var all []Subscription
	for i := range list.Items {
		if _, marked := list.Items[i].Annotations[AnnotationOwned]; marked {
			all = append(all, Subscription{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name})
		}
	}
	slices.SortFunc(all, Subscription.Compare)
	return all, nil
}

// HasSubscription says whether a subscription exists.
func (r *olmReader) HasSubscription(ctx context.Context, s Subscription) (bool, error) {
	if served, err := r.served(kindSubscription); err != nil || !served {
		return false, err
	}
	object := front.Metadata(kindSubscription)
	err := r.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// HasInstallPlan says whether an install plan in any namespace carries the label.
func (r *olmReader) HasInstallPlan(ctx context.Context, label string) (bool, error) {
	if served, err := r.served(kindInstallPlan); err != nil || !served {
		return false, err
	}
	list := front.MetadataList(kindInstallPlan)
	err := r.List(ctx, list, client.HasLabels{label}, client.Limit(1))
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil // the kind has just been taken away
	}
	return len(list.Items) > 0, err
}
