// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/front/gatewayclass"
)

// effective are the images of Istio 1.29 and 1.31, each as istiod and proxy.
func effective(s ImageSettings) []string {
	var all []string
	for _, minor := range []string{"1.29", "1.31"} {
		images := overlay(s.All, s.Versions[minor])
		all = append(all, images.Istiod+" "+images.IstiodSource, images.Proxy+" "+images.ProxySource)
	}
	return all
}

func TestOptions_ReadImages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "images.yaml")
	content := "istiod: f.io/istiod:1\nproxy: f.io/proxy:1\nversions:\n  \"1.31\":\n    istiod: f.io/istiod:131\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile := " file " + file
	cases := map[string]struct {
		reason  string
		options Options
		env     map[string]string
		want    []string
	}{
		"File": {reason: "all three come from the file", options: Options{ImagesFile: file},
			want: []string{"f.io/istiod:1" + fromFile, "f.io/proxy:1" + fromFile, "f.io/istiod:131" + fromFile, "f.io/proxy:1" + fromFile}},
		"Environment": {reason: "the environment wins over the file, for every version and for one", options: Options{ImagesFile: file},
			env: map[string]string{"RELATED_IMAGE_ISTIOD": "e.io/istiod:1", "RELATED_IMAGE_PROXY_1_31": "e.io/proxy:131"},
			want: []string{"e.io/istiod:1 variable RELATED_IMAGE_ISTIOD", "f.io/proxy:1" + fromFile,
				"e.io/istiod:1 variable RELATED_IMAGE_ISTIOD", "e.io/proxy:131 variable RELATED_IMAGE_PROXY_1_31"}},
		"Flag": {reason: "a flag wins over both, component by component", options: Options{ImagesFile: file, IstiodImage: "g.io/istiod:1"},
			env: map[string]string{"RELATED_IMAGE_ISTIOD_1_31": "e.io/istiod:131", "RELATED_IMAGE_PROXY": "e.io/proxy:1"},
			want: []string{"g.io/istiod:1 flag --istiod-image", "e.io/proxy:1 variable RELATED_IMAGE_PROXY",
				"g.io/istiod:1 flag --istiod-image", "e.io/proxy:1 variable RELATED_IMAGE_PROXY"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.options.ReadImages(func(name string) string { return tc.env[name] }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, effective(tc.options.Images)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if err := tc.options.Images.Validate(); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestOptions_ReadImages_Errors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct {
		reason string
		file   string
		want   string
	}{
		"Missing": {reason: "a file that is not there", file: filepath.Join(dir, "none"), want: "--images-file"},
		"Unknown": {reason: "a misspelt component is no setting", file: write("unknown", "pilot: a.io/x:1"), want: "pilot"},
		"Image":   {reason: "a reference that is not full", file: write("image", "istiod: x"), want: "image of file"},
		"Version": {reason: "a version that is not there", file: write("version", "versions: {\"1.30\": {istiod: a.io/x:1}}"), want: "1.30"},
		"Patch":   {reason: "a patch version, which nothing would be looked up by", file: write("patch", "versions: {\"1.31.0\": {istiod: a.io/x:1}}"), want: "1.31.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Options{ImagesFile: tc.file}
			err := o.ReadImages(func(string) string { return "" })
			if err == nil {
				err = o.Images.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.want)
			}
		})
	}
	if err := (ImageSettings{All: gatewayclass.Images{Proxy: "x", ProxySource: "flag --proxy-image"}}).Validate(); err == nil || !strings.Contains(err.Error(), "--proxy-image") {
		t.Errorf("got %v, want an error that says where the image was set", err)
	}
}
