// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"errors"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/telemetry"
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
		AddToScheme: func(scheme *runtime.Scheme) error {
			return errors.Join(olmv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme))
		},
		Settings: func() front.Settings { return DefaultSettings() },
		Off: func(settings front.Settings) bool {
			s, ok := settings.(*Settings)
			return ok && s.Mode == "off"
		},
		Extensions: extensions(),
		Guide:      "clusterextension.md",
		Rows:       Rows,
		Metrics:    []telemetry.Description{leftToOLM, revisionCondition, revisionTransition, resolutions, fetchDuration, cacheBytes, catalogStates, catalogChecked},
		Constants: []front.Source{
			{File: "api/olm.operatorframework.io/v1/conditions.go", Title: "Conditions of ClusterExtensions and ClusterCatalogs"},
			{File: "api/olm.operatorframework.io/v1/labels.go", Title: "Names, labels and annotations of ClusterExtensions"},
		},
		Events: []front.Source{{File: "internal/front/clusterextension/events.go", Title: "Events of ClusterExtensions"}},
	}
}
