// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/istio"
)

// schema.GroupVersionKind shortens signatures.

var (
	gatewayKind      = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: "Gateway"}
	gatewayClassKind = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: "GatewayClass"}
	deploymentKind   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	resourceOfCRDs   = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// isServed asks the API server whether it serves a kind.
func isServed(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking up %s: %w", kind, err)
	}
	return true, nil
}

// matters lets through CRDs that come or go, or whose labels or annotations change: of
// Istio, or of the inference extension.
var matters = predicate.And(
	predicate.NewPredicateFuncs(func(crd client.Object) bool {
		return slices.Contains(istio.CRDNames(), crd.GetName()) ||
			crd.GetName() == InferencePoolCRD || crd.GetName() == ExperimentalInferencePoolCRD
	}),
	predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}),
)

// ofMesh lets through what carries a label by which OLM names a subscription, or may be
// one: whichever subscription a CRD names may come or go.
var ofMesh = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		_, was := e.ObjectOld.GetAnnotations()[AnnotationOwned]
		_, is := e.ObjectNew.GetAnnotations()[AnnotationOwned]
		return was != is || !maps.Equal(subscriptionLabels(e.ObjectOld), subscriptionLabels(e.ObjectNew))
	},
}

func subscriptionLabels(object client.Object) map[string]string {
	labels := maps.Clone(object.GetLabels())
	maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, LabelSubscriptionPrefix) })
	return labels
}

// movedToCanary lets through Gateways that begin or cease to use the canary.
var movedToCanary = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return onCanary(e.Object) },
	DeleteFunc: func(e event.DeleteEvent) bool { return onCanary(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return onCanary(e.ObjectOld) != onCanary(e.ObjectNew) },
}

func onCanary(gateway client.Object) bool {
	return gateway.GetLabels()[LabelRevision] == CanaryRevision
}
