// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha1"
	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/front"
)

// Registration is what the manager, the command line and the reference know of the front.
func Registration() front.Registration {
	return front.Registration{
		Name:      frontName,
		Kind:      v1alpha2.GroupVersion.WithKind("Istio"),
		Finalizer: v1alpha2.Finalizer,
		Served:    []decoding.Kind{{Object: &v1alpha2.Istio{}, Resource: v1alpha2.GroupVersion.WithResource("istios"), Namespace: v1alpha2.Namespace}},
		AddToScheme: func(scheme *runtime.Scheme) error {
			// The definition serves both versions.
			return errors.Join(v1alpha1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme))
		},
		Caches: func() map[client.Object]cache.ByObject {
			return map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: slimNode}}
		},
		Settings:  func() front.Settings { o := DefaultOptions(); return &o },
		Guide:     "kyma.md",
		Rows:      Rows,
		Metrics:   catalog(),
		Constants: []front.Source{{File: "api/operator.kyma-project.io/v1alpha2/conditions.go", Title: "Conditions of an Istio"}},
		Events: []front.Source{
			{File: "internal/front/kyma/events.go", Title: "Events of an Istio"},
			{File: "internal/front/kyma/restarts/events.go", Title: "Events of restarts for proxies"},
		},
	}
}
