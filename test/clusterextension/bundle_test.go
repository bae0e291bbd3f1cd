// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// accepted are the cases of rendering whose objects an API server has to accept as they are. Those of
// kinds that only other programs define are left out.
var accepted = []string{
	"seed", "modes_all", "modes_own", "modes_single", "manifests_placed", "config_deployment", "conversion", "names_long",
	"webhooks_cert_manager", "webhooks_service_ca", "affinity_kept", "affinity_erased", "affinity_field_erased",
}

// TestRenderedObjects sends what bundles are rendered to as the engine does, without making it.
func TestRenderedObjects(t *testing.T) {
	for _, name := range accepted {
		t.Run(name, func(t *testing.T) {
			sent := 0
			for _, object := range renderedOf(t, name) {
				ensureNamespace(t, object.GetNamespace())
				err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("strata-test"), client.DryRunAll, client.ForceOwnership)
				switch {
				case meta.IsNoMatchError(err):
				case err != nil:
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				default:
					sent++
				}
			}
			if sent == 0 {
				t.Error("nothing was sent")
			}
		})
	}
}

// renderedOf are the objects of a case.
func renderedOf(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "internal", "front", "clusterextension", "bundle", "testdata", "cases", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range archive.Files {
		if file.Name != "rendered.yaml" {
			continue
		}
		var rendered struct {
			Phases []struct {
				Objects []json.RawMessage `json:"objects"`
			} `json:"phases"`
		}
		if err := yaml.Unmarshal(file.Data, &rendered); err != nil {
			t.Fatal(err)
		}
		for _, phase := range rendered.Phases {
			for _, text := range phase.Objects {
				object := &unstructured.Unstructured{}
				if err := object.UnmarshalJSON(text); err != nil {
					t.Fatal(err)
				}
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// ensureNamespace makes a namespace, which has to be there also for what is only tried.
func ensureNamespace(t *testing.T, name string) {
	t.Helper()
	if name == "" {
		return
	}
	err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
