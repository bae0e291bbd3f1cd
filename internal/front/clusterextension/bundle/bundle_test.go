// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/internal/front/clusterextension/casetest"
)

// TestCases renders testdata/cases/NAME.txtar.
func TestCases(t *testing.T) {
	casetest.Run(t, 50, "rendered.yaml", func(t *testing.T, archive *txtar.Archive) string {
		got := render(t, archive)
		if diff := cmp.Diff(got, render(t, archive)); diff != "" {
			t.Errorf("two renderings differ:\n%s", diff)
		}
		return got
	})
}

// input is target.yaml.
type input struct {
	Extension    string                 `json:"extension"`
	Package      string                 `json:"package"`
	PackageName  string                 `json:"packageName"`
	Version      string                 `json:"version"`
	Namespace    string                 `json:"namespace"`
	Certificates Certificates           `json:"certificates"`
	KubeVersion  string                 `json:"kubeVersion"`
	MediaType    string                 `json:"mediaType"`
	Labels       map[string]string      `json:"labels"`
	Scopes       map[string]plain.Scope `json:"scopes"`
	Config       map[string]any         `json:"config"`
}

// read are the source and the target of a case.
func read(t *testing.T, archive *txtar.Archive) (Source, Target) {
	t.Helper()
	var in input
	files := fstest.MapFS{}
	for _, file := range archive.Files {
		if name, isBundle := strings.CutPrefix(file.Name, "bundle/"); isBundle {
			files[name] = &fstest.MapFile{Data: file.Data}
		}
		if file.Name == "target.yaml" {
			if err := yaml.UnmarshalStrict(file.Data, &in); err != nil {
				t.Fatal(err)
			}
		}
	}
	target := Target{
		Extension: in.Extension, Package: in.Package, PackageName: in.PackageName, Version: in.Version, Namespace: in.Namespace,
		Certificates: in.Certificates, KubeVersion: in.KubeVersion,
	}
	if in.Scopes != nil {
		target.Scope = func(kind schema.GroupVersionKind) plain.Scope { return in.Scopes[kind.GroupKind().String()] }
	}
	if in.Config != nil {
		config, err := yaml.Marshal(in.Config)
		if err != nil {
			t.Fatal(err)
		}
		if target.Config, err = yaml.YAMLToJSON(config); err != nil {
			t.Fatal(err)
		}
	}
	return Source{Files: files, MediaType: in.MediaType, Labels: in.Labels}, target
}

// shown is what a case renders to.
type shown struct {
	Error      string   `json:"error,omitempty"`
	Refused    []string `json:"refused,omitempty"`
	Config     string   `json:"config,omitempty"`
	Format     Format   `json:"format,omitempty"`
	Images     []string `json:"images,omitempty"`
	Properties string   `json:"properties,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
	Phases     []phase  `json:"phases,omitempty"`
}

type phase struct {
	Name    string           `json:"name"`
	Objects []map[string]any `json:"objects"`
}

// render is what a case renders to, as text.
func render(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	source, target := read(t, archive)
	bundle, err := Read(source)
	var rendered Rendered
	if err == nil {
		rendered, err = bundle.Render(target)
	}
	var out shown
	var refused *RefusedError
	var misconfigured *ConfigError
	switch {
	case errors.As(err, &refused):
		out.Refused = refused.Problems
	case errors.As(err, &misconfigured):
		out.Config = misconfigured.Error()
	case err != nil:
		out.Error = err.Error()
	default:
		out = shown{Format: bundle.Format, Images: rendered.Images, Properties: rendered.PropertiesJSON(), Warnings: rendered.Warnings}
	}
	if _, err := (content.Packer{Key: make([]byte, content.KeySize)}).Pack(rendered.Phases, nil); err != nil {
		t.Errorf("a revision cannot hold it: %v", err)
	}
	for _, p := range rendered.Phases {
		one := phase{Name: p.Name}
		for _, object := range p.Objects {
			one.Objects = append(one.Objects, object.Manifest.Object)
		}
		out.Phases = append(out.Phases, one)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSeed renders the sample of the proposal: it is the same, but for an annotation that OLM has added
// since.
func TestSeed(t *testing.T) {
	data, err := os.ReadFile("testdata/seed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := chart.Manifests("seed.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/cases/seed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	source, target := read(t, archive)
	bundle, err := Read(source)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := bundle.Render(target)
	if err != nil {
		t.Fatal(err)
	}
	var got []*unstructured.Unstructured
	for _, p := range rendered.Phases {
		for _, object := range p.Objects {
			got = append(got, object.Manifest)
		}
	}
	slices.SortFunc(got, compare)
	for _, object := range wanted {
		if object.GetKind() == "Deployment" {
			if err := unstructured.SetNestedField(object.Object, target.Namespace, "spec", "template", "metadata", "annotations", annotationNamespace); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.SortFunc(wanted, compare)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
