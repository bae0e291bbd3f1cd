// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package helm3 renders the charts in the binary with the template engine of Helm 3 as
// well: users of these charts know their objects from Helm 3, and Strata renders with
// Helm 4 (see decision 0019). It is a module of its own, so that nothing else depends on
// Helm 3.
package helm3

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	manifests128 "alias.strata.run/istio-1-28/manifests"
	manifests129 "alias.strata.run/istio-1-29/manifests"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	manifests131 "istio.io/istio/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/istio"
)

var files = map[string]fs.FS{"1.28": manifests128.FS, "1.29": manifests129.FS, "1.31": manifests131.FS}

var charts = []string{istio.ChartBase, istio.ChartIstiod, istio.ChartCNI, istio.ChartZtunnel, istio.ChartIngress, istio.ChartEgress}

// values are laid over those of the charts.
var values = map[string]map[string]any{
	"Defaults": {},
	"Full": {
		"revision":       "canary",
		"revisionTags":   []any{"stable"},
		"profile":        "ambient",
		"base":           map[string]any{"validationURL": "https://istiod.example:15017/validate"},
		"global":         map[string]any{"istioNamespace": "mesh", "proxy": map[string]any{"logLevel": "debug"}, "imagePullSecrets": []any{"registry"}},
		"pilot":          map[string]any{"autoscaleMin": 2, "env": map[string]any{"PILOT_ENABLE_STATUS": "true"}, "podAnnotations": map[string]any{"a": "b"}},
		"meshConfig":     map[string]any{"accessLogFile": "/dev/stdout", "trustDomain": "mesh.example"},
		"_internal_note": "unknown values change nothing",
	},
}

func TestSameObjects(t *testing.T) {
	for _, release := range istio.Releases() {
		for _, dir := range charts {
			for name, over := range values {
				t.Run(fmt.Sprintf("%s/%s/%s", release.Minor(), path.Base(dir), name), func(t *testing.T) {
					source := chart.Source{FS: files[release.Minor()], Dir: dir, Version: release.Version(), AppVersion: release.Version()}
					want, err := withHelm3(source, over)
					if err != nil {
						t.Fatal(err)
					}
					got, err := withOurs(source, over)
					if err != nil {
						t.Fatal(err)
					}
					if len(got) == 0 {
						t.Fatal("the chart has no objects")
					}
					compare(t, got, want)
				})
			}
		}
	}
}

func compare(t *testing.T, got, want map[string]*unstructured.Unstructured) {
	t.Helper()
	for id, object := range want {
		switch mine := got[id]; {
		case mine == nil:
			t.Errorf("%s is missing", id)
		case !reflect.DeepEqual(mine.Object, object.Object):
			t.Errorf("%s is %v, with Helm 3 %v", id, mine.Object, object.Object)
		}
	}
	for id := range got {
		if want[id] == nil {
			t.Errorf("Helm 3 has no %s", id)
		}
	}
}

func withOurs(source chart.Source, over map[string]any) (map[string]*unstructured.Unstructured, error) {
	loaded, err := chart.Load(source)
	if err != nil {
		return nil, err
	}
	objects, err := loaded.Render(chart.Release{Name: "istio", Namespace: "istio-system", Values: over})
	return byID(objects), err
}

// withHelm3 renders as `helm template` of Helm 3 does.
func withHelm3(source chart.Source, over map[string]any) (map[string]*unstructured.Unstructured, error) {
	read, err := readAll(source)
	if err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFiles(read)
	if err != nil {
		return nil, err
	}
	loaded.Metadata.Version, loaded.Metadata.AppVersion = source.Version, source.AppVersion
	kube, err := chartutil.ParseKubeVersion(chart.DefaultKubeVersion)
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	options := chartutil.ReleaseOptions{Name: "istio", Namespace: "istio-system", Revision: 1, IsInstall: true}
	merged, err := chartutil.ToRenderValues(loaded, over, options, capabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, merged)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for name, text := range texts {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		objects, err := chart.Manifests(name, []byte(text))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return byID(all), nil
}

func readAll(source chart.Source) (read []*loader.BufferedFile, err error) {
	err = fs.WalkDir(source.FS, source.Dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source.FS, name)
		read = append(read, &loader.BufferedFile{Name: strings.TrimPrefix(name, source.Dir+"/"), Data: data})
		return err
	})
	return read, err
}

func byID(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	all := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		id := strings.Join(slices.DeleteFunc([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, func(s string) bool { return s == "" }), " ")
		all[id] = o
	}
	return all
}
