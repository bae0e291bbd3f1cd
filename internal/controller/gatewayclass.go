// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/render/gatewayclass"
	"github.com/strata-run/strata/internal/status"
)

// gatewayClassFront installs one istiod for all GatewayClasses of our controller.
func gatewayClassFront(o Options) front.Front[*gatewayv1.GatewayClass] {
	return front.Front[*gatewayv1.GatewayClass]{
		Name:      "gatewayclass",
		Finalizer: gatewayclass.Finalizer,
		List:      func() client.ObjectList { return &gatewayv1.GatewayClassList{} },
		Selects: func(class *gatewayv1.GatewayClass) bool {
			return class.Spec.ControllerName == gatewayclass.ControllerName
		},
		Render: func(classes []*gatewayv1.GatewayClass, existing []v1alpha1.Package) ([]render.Package, error) {
			in := gatewayclass.Input{DefaultVersion: o.IstioVersion}
			for _, class := range classes {
				in.Classes = append(in.Classes, *class)
			}
			for _, pkg := range existing {
				if pkg.Name == gatewayclass.PackageCRDs {
					in.CRDVersion = pkg.Status.Version
				}
			}
			return gatewayclass.Render(in)
		},
		Status: func(class *gatewayv1.GatewayClass, packages []status.FrontPackage, err error, now metav1.Time) {
			status.SetControllerInstalled(&class.Status.Conditions, class.Generation, gatewayclass.PackageControlPlane, packages, err, now)
		},
	}
}
