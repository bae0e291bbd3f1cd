// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	base, err := ReadValues("base.yaml", []byte("{image: {tag: a, name: x}, replicas: 1, list: [1]}"))
	if err != nil {
		t.Fatal(err)
	}
	over, err := ReadValues("over.yaml", []byte("{image: {tag: b}, list: [2, 3]}"))
	if err != nil {
		t.Fatal(err)
	}
	values := MergeValues(base, over)
	if err := SetValue(values, "replicas=3,image.pull=Always"); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"image": map[string]any{"tag": "b", "name": "x", "pull": "Always"}, "replicas": int64(3), "list": []any{float64(2), float64(3)},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if err := SetValue(values, "a[x]=1"); err == nil || !strings.Contains(err.Error(), "a[x]=1") {
		t.Errorf("got %v, want an error that quotes the expression", err)
	}
	if _, err := ReadValues("bad.yaml", []byte("- 1")); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestLoadArchive(t *testing.T) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archived := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"web/Chart.yaml":            "{apiVersion: v2, name: web, version: 1.2.3, appVersion: 4.5.6}",
		"web/templates/object.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}}}",
	} {
		if err := archived.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archived.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archived.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := LoadArchive("web.tgz", &packed)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := c.Render(Release{Name: "one", Namespace: "app"})
	if err != nil || len(objects) != 1 || objects[0].GetName() != "one" || c.AppVersion() != "4.5.6" {
		t.Errorf("got %v of version %s, %v", objects, c.AppVersion(), err)
	}
	if _, err := LoadArchive("bad.tgz", strings.NewReader("no archive")); err == nil || !strings.Contains(err.Error(), "bad.tgz") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
