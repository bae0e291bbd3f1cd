// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/render/gatewayclass"
	"github.com/strata-run/strata/internal/status"
)

// noFacts are those of a front that looks at nothing but its resources and packages.
type noFacts struct{}

// gatewayClassFront installs one istiod for all GatewayClasses of our controller.
func gatewayClassFront(o Options) front.Front[*gatewayv1.GatewayClass, noFacts] {
	return front.Front[*gatewayv1.GatewayClass, noFacts]{
		Name:      "gatewayclass",
		Finalizer: gatewayclass.Finalizer,
		List:      func() client.ObjectList { return &gatewayv1.GatewayClassList{} },
		Selects: func(class *gatewayv1.GatewayClass) bool {
			return class.Spec.ControllerName == gatewayclass.ControllerName
		},
		Render: func(group front.Input[*gatewayv1.GatewayClass, noFacts]) ([]render.Package, error) {
			in := gatewayclass.Input{DefaultVersion: o.IstioVersion}
			for _, class := range group.Resources {
				in.Classes = append(in.Classes, *class)
			}
			for i := range group.Existing {
				if group.Existing[i].Name == gatewayclass.PackageCRDs {
					in.CRDVersion = group.Existing[i].Status.Version
				}
			}
			return gatewayclass.Render(in)
		},
		Status: func(class *gatewayv1.GatewayClass, state front.State[noFacts]) {
			if !class.DeletionTimestamp.IsZero() {
				return // it goes when its packages are gone
			}
			status.SetControllerInstalled(&class.Status.Conditions, class.Generation, gatewayclass.PackageControlPlane, state.Packages, state.Err, state.Now)
		},
	}
}
