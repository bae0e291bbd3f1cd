// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/front"
)

// frontName is the front's name, which stands on its packages.
const frontName = "clusterextension"

// Registration is what the manager, the command line and the reference know of the front.
func Registration() front.Registration {
	return front.Registration{
		Name:      frontName,
		Kind:      olmv1.GroupVersion.WithKind("ClusterExtension"),
		Finalizer: olmv1.Finalizer,
		Served: []decoding.Kind{
			{Object: &olmv1.ClusterExtension{}, Resource: olmv1.GroupVersion.WithResource("clusterextensions")},
			{Object: &olmv1.ClusterCatalog{}, Resource: olmv1.GroupVersion.WithResource("clustercatalogs")},
		},
		AddToScheme: olmv1.AddToScheme,
		Settings:    func() front.Settings { return &Settings{} },
		Guide:       "clusterextension.md",
		Rows:        func() front.Rows { return nil },
		Constants: []front.Source{
			{File: "api/olm.operatorframework.io/v1/labels.go", Title: "Names, labels and annotations of ClusterExtensions"},
		},
	}
}
