// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/front"
)

// Registration is what the manager, the command line and the reference know of the front.
func Registration() front.Registration {
	return front.Registration{
		Name:        frontName,
		Kind:        operatorv1alpha1.GroupVersion.WithKind("IstioCSR"),
		Finalizer:   operatorv1alpha1.Finalizer,
		Served:      []decoding.Kind{{Object: &operatorv1alpha1.IstioCSR{}, Resource: operatorv1alpha1.GroupVersion.WithResource("istiocsrs")}},
		AddToScheme: operatorv1alpha1.AddToScheme,
		Settings:    func() front.Settings { return DefaultSettings() },
		Guide:       "istiocsr.md",
		Rows:        Rows,
		Constants: []front.Source{
			{File: "api/operator.openshift.io/v1alpha1/conditions.go", Title: "Conditions of an IstioCSR"},
			{File: "api/operator.openshift.io/v1alpha1/labels.go", Title: "Names, finalizers and annotations of an IstioCSR"},
		},
		Events: []front.Source{{File: "internal/front/istiocsr/events.go", Title: "Events of an IstioCSR"}},
	}
}
