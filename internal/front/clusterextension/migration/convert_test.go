// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/front/clusterextension/casetest"
	"github.com/strata-run/strata/internal/helmimport"
)

// TestCases converts testdata/cases/NAME.txtar.
func TestCases(t *testing.T) {
	casetest.Run(t, 5, "revision.yaml", converted)
}

// converted is what the release of a case becomes.
func converted(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	r := Release{Secret: "olmv1-system/" + first, Name: "demo", Version: 1, Labels: complete}
	scalers := map[helmimport.Scaled]string{}
	for _, file := range archive.Files {
		switch file.Name {
		case "labels.yaml":
			r.Labels = nil
			if err := yaml.UnmarshalStrict(file.Data, &r.Labels); err != nil {
				t.Fatal(err)
			}
		case "manifest.json":
			r.Manifest = string(file.Data)
		case "scaled.yaml":
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(file.Data, &object.Object); err != nil {
				t.Fatal(err)
			}
			scalers[helmimport.ScaledOf(object)] = "scaler"
		}
	}
	ce := extension()
	from, err := r.installed()
	if err != nil {
		return err.Error() + "\n"
	}
	is, err := convert(from, ce, target(ce), scalers)
	if err != nil {
		return err.Error() + "\n"
	}
	shown := map[string]any{"package": is.Package, "bundle": is.Bundle, "image": is.Image, "images": is.Images, "notes": is.Notes}
	var phases []any
	for _, phase := range is.Phases {
		var objects []any
		for _, object := range phase.Objects {
			one := map[string]any{"manifest": object.Manifest.Object}
			if len(object.UnmanagedFields) > 0 {
				one["unmanagedFields"] = object.UnmanagedFields
			}
			objects = append(objects, one)
		}
		phases = append(phases, map[string]any{"name": phase.Name, "collisionProtection": phase.CollisionProtection, "objects": objects})
	}
	shown["phases"] = phases
	text, err := yaml.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
