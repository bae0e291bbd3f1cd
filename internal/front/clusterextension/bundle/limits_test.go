// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/content"
)

const annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: p}"

func csv(annotations string) string {
	return `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "p.v1", "annotations": {` + annotations + `}},
		"spec": {"installModes": [{"type": "AllNamespaces", "supported": true}], "install": {"spec": {"deployments": [{"name": "d", "spec": {}}]}}}}`
}

func files(texts map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range texts {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func rendered(t *testing.T, source Source) Rendered {
	t.Helper()
	bundle, err := Read(source)
	if err != nil {
		t.Fatal(err)
	}
	got, err := bundle.Render(Target{Extension: "e", Namespace: "ns", PackageName: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestLargeAnnotations has a CSV whose annotations do not fit on pods with its examples.
func TestLargeAnnotations(t *testing.T) {
	of := func(size int) (map[string]string, []string) {
		got := rendered(t, Source{Files: files(map[string]string{
			annotationsFile:      annotations,
			"manifests/csv.json": csv(`"alm-examples": "` + strings.Repeat("x", size) + `", "note": "kept"`),
		})})
		found, _, err := unstructured.NestedStringMap(got.Phases[0].Objects[0].Manifest.Object, "spec", "template", "metadata", "annotations")
		if err != nil {
			t.Fatal(err)
		}
		return found, got.Warnings
	}
	if found, warnings := of(maxAnnotations - 200); found[annotationExamples] == "" || len(warnings) > 0 {
		t.Errorf("annotations that fit are left out: %v", warnings)
	}
	if found, warnings := of(maxAnnotations); found[annotationExamples] != "" || found["note"] != "kept" || len(warnings) != 1 {
		t.Errorf("annotations that do not fit: %d of them, %v", len(found), warnings)
	}
}

// TestLargeBundle has 1,500 objects, 3 MB of content, and a definition of 1 MB.
func TestLargeBundle(t *testing.T) {
	var maps strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&maps, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: %q}}\n", i, strings.Repeat("x", 2000))
	}
	definition := `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "w.example.com"}, "spec": {"versions": [{"schema": {"openAPIV3Schema": {"description": "` + strings.Repeat("x", 1<<20) + `"}}}]}}`
	got := rendered(t, Source{Files: files(map[string]string{
		annotationsFile: annotations, "manifests/csv.json": csv(""), "manifests/maps.yaml": maps.String(), "manifests/crd.json": definition,
	})})
	if _, err := content.Pack(got.Phases, nil); err != nil {
		t.Errorf("it cannot be stored: %v", err)
	}
	objects := 0
	for _, phase := range got.Phases {
		objects += len(phase.Objects)
	}
	if objects != 1502 {
		t.Errorf("%d objects", objects)
	}
}

func TestTooManyPlainObjects(t *testing.T) {
	source := func(n int) Source {
		texts := map[string]string{}
		for i := range n {
			name := fmt.Sprint("c", i)
			texts["manifests/"+name+".yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}"
		}
		return Source{Files: files(texts)}
	}
	if _, err := Read(source(maxPlain)); err != nil {
		t.Error(err)
	}
	var refused *RefusedError
	if _, err := Read(source(maxPlain + 1)); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// TestPackedChart has a chart as Helm packs it.
func TestPackedChart(t *testing.T) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	writer := tar.NewWriter(compressed)
	for name, text := range map[string]string{
		"web/Chart.yaml":       "{apiVersion: v2, name: web, version: 1.0.0}",
		"web/templates/a.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}}`,
	} {
		if err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	got := rendered(t, Source{Files: files(map[string]string{"web-1.0.0.tgz": packed.String()}), MediaType: helmConfig})
	if name := got.Phases[0].Objects[0].Manifest.GetName(); name != "e" {
		t.Errorf("the ConfigMap is %s", name)
	}
}

// TestSourceIsKept renders twice from one Bundle, for two targets: what was read does not change.
func TestSourceIsKept(t *testing.T) {
	bundle, err := Read(Source{Files: files(map[string]string{
		annotationsFile: annotations, "manifests/csv.json": csv(`"a": "b"`), "manifests/c.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
	})})
	if err != nil {
		t.Fatal(err)
	}
	digest := func(namespace string) string {
		got, err := bundle.Render(Target{Extension: "e", Namespace: namespace, PackageName: "p"})
		if err != nil {
			t.Fatal(err)
		}
		packed, err := content.Pack(got.Phases, nil)
		if err != nil {
			t.Fatal(err)
		}
		return packed.Digest
	}
	first := digest("one")
	if digest("two") == first || digest("one") != first {
		t.Error("the renderings depend on each other")
	}
}
