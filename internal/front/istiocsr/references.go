// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// configMapKind is that of the configuration of a mesh's proxies.
var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// references is what is known of the meshes that point at the agents in some namespaces, by
// namespace: their names, and of which it could not be found out. What is not known is
// reported, and does not stop the rollout.
type references struct {
	clients, unread map[string][]string
}

// observeClients finds out which meshes point at agents that go with their IstioCSR.
func (o *observer) observeClients(ctx context.Context, group front.Group[*operatorv1alpha1.IstioCSR]) references {
	found := references{clients: map[string][]string{}, unread: map[string][]string{}}
	all := slices.Concat(group.Resources, group.Deleting)
	all = slices.DeleteFunc(all, func(ic *operatorv1alpha1.IstioCSR) bool { return !RemovesOnDeletion(ic) })
	if len(all) == 0 {
		return found
	}
	for _, kind := range ClientKinds() {
		if o.served(kind.Kind) {
			o.observeKind(ctx, kind, all, found)
		}
	}
	for _, ic := range all {
		o.observeInjectors(ctx, ic, found)
		slices.Sort(found.clients[ic.Namespace])
		slices.Sort(found.unread[ic.Namespace])
	}
	return found
}

// observeKind looks at what an operator's kind says about its meshes.
func (o *observer) observeKind(ctx context.Context, kind ClientKind, all []*operatorv1alpha1.IstioCSR, found references) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.Kind)
	err := o.cache.List(ctx, list, client.UnsafeDisableDeepCopy)
	for _, ic := range all {
		if err != nil {
			found.unread[ic.Namespace] = append(found.unread[ic.Namespace], fmt.Sprintf("objects of kind %s: %v", kind.Kind.Kind, err))
			continue
		}
		for i := range list.Items {
			if kind.PointsAt(&list.Items[i], ic.Namespace) {
				found.clients[ic.Namespace] = append(found.clients[ic.Namespace], kind.Name(&list.Items[i]))
			}
		}
	}
}

// observeInjectors reads the configuration of the proxies of an IstioCSR's mesh. Every
// installation of istiod has it.
func (o *observer) observeInjectors(ctx context.Context, ic *operatorv1alpha1.IstioCSR, found references) {
	unread := func(what string, why any) {
		found.unread[ic.Namespace] = append(found.unread[ic.Namespace], fmt.Sprintf("%s: %v", what, why))
	}
	if !CanBeFollowed(ic) {
		unread("the mesh", "the spec does not say where it is")
		return
	}
	for _, name := range InjectorConfigs(ic) {
		key := types.NamespacedName{Namespace: ic.Spec.IstioCSRConfig.Istio.Namespace, Name: name}
		config := front.Untyped(configMapKind)
		exists, err := front.Found(o.objects.Get(ctx, key, config))
		points := false
		if err == nil && exists {
			points, err = InjectorPointsAt(config, ic.Namespace)
		}
		if err != nil {
			unread("ConfigMap "+key.String(), err)
		}
		if points {
			found.clients[ic.Namespace] = append(found.clients[ic.Namespace], "ConfigMap "+key.String())
		}
	}
}
