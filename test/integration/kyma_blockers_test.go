// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/kyma/crwatch"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/cache"
)

const blockerGroup = "blockers.example.com"

// blockerDefinition serves a kind in some of its versions.
func blockerDefinition(kind, plural string, served ...string) *apiextensionsv1.CustomResourceDefinition {
	keep := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + blockerGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: blockerGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
		},
	}
	for _, version := range []string{"v1alpha3", "v1beta1", "v1"} {
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: slices.Contains(served, version), Storage: version == "v1alpha3",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
		})
	}
	return definition
}

// What blocks a deletion is found in whatever version the API server serves it, also when that
// changes, and no kind that is defined is ever taken for missing.
func TestKymaBlockers(t *testing.T) {
	must(t, apiextensionsv1.AddToScheme(admin.Scheme()))
	http, err := rest.HTTPClientFor(plane.Config())
	must(t, err)
	versions, err := crwatch.VersionsOf(plane.Config(), http)
	must(t, err)
	partial, err := metadata.NewForConfigAndClient(plane.Config(), http)
	must(t, err)
	changed := make(chan struct{}, 100)
	config := crwatch.Config{
		Kinds: []servicemesh.BlockingKind{
			{GroupKind: schema.GroupKind{Group: blockerGroup, Kind: "Route"}, Resource: "routes"},
			{GroupKind: schema.GroupKind{Group: blockerGroup, Kind: "Gateway"}, Resource: "gateways"},
		},
		Definitions: admin, Versions: versions, Metadata: partial, Label: "module",
		Objects: cache.New(t.Context(), cache.Config{Metadata: partial}).Objects(func() { changed <- struct{}{} }),
	}
	w := crwatch.New(config)
	found := func(reason string, want ...string) {
		t.Helper()
		planetest.Eventually(t, reason, func() (bool, error) {
			watched, err := w.Look(t.Context())
			live, liveErr := w.Confirm(t.Context())
			return slices.Equal(want, blockerNames(watched)) && slices.Equal(want, blockerNames(live)) && err == nil && liveErr == nil,
				errors.Join(err, liveErr, fmt.Errorf("watched %v, live %v", blockerNames(watched), blockerNames(live)))
		})
	}
	found("nothing is defined")

	// One kind in an old version only, another one in several.
	routes, gateways := blockerDefinition("Route", "routes", "v1alpha3"), blockerDefinition("Gateway", "gateways", "v1beta1", "v1")
	for _, definition := range []*apiextensionsv1.CustomResourceDefinition{routes, gateways} {
		must(t, admin.Create(t.Context(), definition))
		t.Cleanup(func() { must(t, admin.Delete(context.Background(), definition)) })
	}
	found("two kinds without objects")
	blocker(t, "v1alpha3", "Route", "a")
	blocker(t, "v1beta1", "Gateway", "b")
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("what has come was not reported")
	}
	found("each in the version that is served", "Gateway b", "Route a")

	// The version that was watched goes, another one comes.
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(routes), routes))
	before := routes.DeepCopy()
	for i := range routes.Spec.Versions {
		routes.Spec.Versions[i].Served = routes.Spec.Versions[i].Name == "v1"
	}
	must(t, admin.Patch(t.Context(), routes, client.MergeFrom(before)))
	found("in the new version", "Gateway b", "Route a")
	w.Stop()
	found("begun anew", "Gateway b", "Route a")

	// No API server serves it, and its objects are still there.
	w.Stop()
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(routes), routes))
	before = routes.DeepCopy()
	for i := range routes.Spec.Versions {
		routes.Spec.Versions[i].Served = false
	}
	must(t, admin.Patch(t.Context(), routes, client.MergeFrom(before)))
	planetest.Eventually(t, "an error that names the kind", func() (bool, error) {
		w.Stop()
		_, err := w.Look(t.Context())
		return err != nil && strings.Contains(err.Error(), "routes."+blockerGroup), err
	})

	// Discovery that fails is no absence either.
	nowhere := rest.CopyConfig(plane.Config())
	nowhere.Host = "https://127.0.0.1:1"
	config.Versions, err = crwatch.VersionsOf(nowhere, http)
	must(t, err)
	blind := crwatch.New(config)
	if got, err := blind.Look(t.Context()); err == nil {
		t.Errorf("without discovery: got %v", got)
	}
}

// blocker makes an object of a kind that may have just been defined.
func blocker(t *testing.T, version, kind, name string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: blockerGroup, Version: version, Kind: kind})
	o.SetNamespace("default")
	o.SetName(name)
	planetest.Eventually(t, "the API server to take "+kind+" "+name, func() (bool, error) {
		err := admin.Create(t.Context(), o)
		return err == nil, err
	})
}

func blockerNames(all []servicemesh.CustomResource) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Kind+" "+r.Name)
	}
	slices.Sort(names)
	return names
}
