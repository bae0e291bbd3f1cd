// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

// Registration is what the manager, the command line and the reference know of the front.
func Registration() front.Registration {
	return front.Registration{
		Name:        frontName,
		Kind:        schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: "Gateway"},
		AddToScheme: gatewayv1.Install,
		Caches:      caches,
		Trim:        slim,
		Settings:    func() front.Settings { return &Settings{} },
		Guide:       "gateway-dns.md",
		Rows:        Rows,
	}
}

// caches limit what is cached of kinds that users have many objects of: Services that
// belong to Gateways, and warnings about Services, in one namespace. Any other Service
// has to be read live.
func caches() map[client.Object]cache.ByObject {
	within := func(config cache.Config) cache.ByObject {
		return cache.ByObject{Namespaces: map[string]cache.Config{Namespace: config}}
	}
	all := labels.Everything()
	if belongs, err := labels.NewRequirement(LabelGateway, selection.Exists, nil); err == nil {
		all = all.Add(*belongs)
	}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}: within(cache.Config{LabelSelector: all}),
		&corev1.Event{}: within(cache.Config{FieldSelector: fields.SelectorFromSet(fields.Set{
			"involvedObject.kind": "Service", "type": corev1.EventTypeWarning,
		})}),
	}
}

// slim keeps of a Gateway in another namespace only its class.
func slim(object any) {
	if g, ok := object.(*gatewayv1.Gateway); ok && g.Namespace != Namespace {
		g.Spec = gatewayv1.GatewaySpec{GatewayClassName: g.Spec.GatewayClassName}
		g.Status = gatewayv1.GatewayStatus{}
	}
}
