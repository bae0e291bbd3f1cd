// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
)

func TestPhases(t *testing.T) {
	files := fstest.MapFS{
		"b/first.yaml": {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")},
		"second.yaml":  {Data: []byte("{apiVersion: v1, kind: A}\n---\n{apiVersion: v1, kind: B}")},
		"wrong.yaml":   {Data: []byte("a: [")},
	}
	phases, err := revisions.Phases(files, "second.yaml", "b/first.yaml")
	if err != nil || len(phases) != 2 || phases[0].Name != "second" || len(phases[0].Objects) != 2 || phases[1].Name != "first" || len(phases[1].Objects) != 1 {
		t.Errorf("got %v, %v", phases, err)
	}
	for name, want := range map[string]string{"wrong.yaml": "reading wrong.yaml: document 1: ", "none.yaml": "reading the phases: open none.yaml: "} {
		if _, err := revisions.Phases(files, "second.yaml", name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestObjects(t *testing.T) {
	objects, err := revisions.Objects("---\n# none\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
	if err != nil || len(objects) != 2 {
		t.Fatalf("got %d objects, %v", len(objects), err)
	}
	if objects[0].Manifest.GetKind() != "Deployment" || objects[0].Probe == nil {
		t.Errorf("the Deployment is %v with the probe %v", objects[0].Manifest, objects[0].Probe)
	}
	if replicas, found, err := unstructured.NestedInt64(objects[0].Manifest.Object, "spec", "replicas"); replicas != 2 || !found || err != nil {
		t.Errorf("spec.replicas is %d, %t, %v, want a number as the engine compares it", replicas, found, err)
	}
	if objects[1].Manifest.GetKind() != "ConfigMap" || objects[1].Probe != nil {
		t.Errorf("the ConfigMap is %v with the probe %v", objects[1].Manifest, objects[1].Probe)
	}
	for _, wrong := range []string{"a: [\n", "metadata: {name: web}\n"} {
		if _, err := revisions.Objects("{apiVersion: v1, kind: A}\n---\n" + wrong); err == nil || !strings.HasPrefix(err.Error(), "document 2: ") {
			t.Errorf("%q gives %v", wrong, err)
		}
	}
}
