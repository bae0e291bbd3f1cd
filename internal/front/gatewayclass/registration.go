// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

// Registration is what the manager, the command line and the reference know of the front.
func Registration() front.Registration {
	return front.Registration{
		Name:        FrontName,
		Kind:        gatewayClassKind,
		Finalizer:   Finalizer,
		AddToScheme: gatewayv1.Install,
		Settings:    func() front.Settings { return DefaultSettings() },
		HandOver: &front.HandOver{
			Annotation: AnnotationHandOver,
			List:       listClasses,
			Marked: func(object client.Object) bool {
				class, ok := object.(*gatewayv1.GatewayClass)
				return ok && isMarked(class)
			},
			Free: func(ctx context.Context, c client.Client, object client.Object) error {
				class, ok := object.(*gatewayv1.GatewayClass)
				if !ok {
					return nil
				}
				return free(ctx, c, class)
			},
		},
		Guide: "gatewayclass.md",
		Rows:  Rows,
	}
}

// listClasses are the GatewayClasses of the front, none where the kind is not served.
func listClasses(ctx context.Context, reader client.Reader) ([]client.Object, error) {
	list := &gatewayv1.GatewayClassList{}
	if err := reader.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("listing GatewayClasses: %w", err)
	}
	var ours []client.Object
	for i := range list.Items {
		if isOurClass(&list.Items[i]) {
			ours = append(ours, &list.Items[i])
		}
	}
	return ours, nil
}
