// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// effective are the images of Istio 1.29 and 1.31, each as istiod and proxy.
func effective(s *Settings) []string {
	var all []string
	for _, minor := range []string{"1.29", "1.31"} {
		images := s.all.with(s.versions[minor])
		all = append(all, images.Istiod+" "+images.IstiodSource, images.Proxy+" "+images.ProxySource)
	}
	return all
}

func TestSettings_Images(t *testing.T) {
	file := filepath.Join(t.TempDir(), "images.yaml")
	content := "istiod: f.io/istiod:1\nproxy: f.io/proxy:1\nversions:\n  \"1.31\":\n    istiod: f.io/istiod:131\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile := " file " + file
	cases := map[string]struct {
		reason string
		flag   string
		env    map[string]string
		want   []string
	}{
		"File": {reason: "all three come from the file",
			want: []string{"f.io/istiod:1" + fromFile, "f.io/proxy:1" + fromFile, "f.io/istiod:131" + fromFile, "f.io/proxy:1" + fromFile}},
		"Environment": {reason: "the environment wins over the file, for every version and for one",
			env: map[string]string{"RELATED_IMAGE_ISTIOD": "e.io/istiod:1", "RELATED_IMAGE_PROXY_1_31": "e.io/proxy:131"},
			want: []string{"e.io/istiod:1 variable RELATED_IMAGE_ISTIOD", "f.io/proxy:1" + fromFile,
				"e.io/istiod:1 variable RELATED_IMAGE_ISTIOD", "e.io/proxy:131 variable RELATED_IMAGE_PROXY_1_31"}},
		"Flag": {reason: "a flag wins over both, component by component", flag: "g.io/istiod:1",
			env: map[string]string{"RELATED_IMAGE_ISTIOD_1_31": "e.io/istiod:131", "RELATED_IMAGE_PROXY": "e.io/proxy:1"},
			want: []string{"g.io/istiod:1 flag --istiod-image", "e.io/proxy:1 variable RELATED_IMAGE_PROXY",
				"g.io/istiod:1 flag --istiod-image", "e.io/proxy:1 variable RELATED_IMAGE_PROXY"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			s.ImagesFile, s.IstiodImage = file, tc.flag
			for range 2 { // completing them once more changes nothing
				if err := s.Complete(func(name string) string { return tc.env[name] }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, effective(s)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestSettings_Errors(t *testing.T) {
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
		set    func(*Settings)
		want   string
	}{
		"Missing":   {reason: "a file that is not there", set: func(s *Settings) { s.ImagesFile = filepath.Join(dir, "none") }, want: "--images-file"},
		"Unknown":   {reason: "a misspelt component is no setting", set: func(s *Settings) { s.ImagesFile = write("unknown", "pilot: a.io/x:1") }, want: "pilot"},
		"Image":     {reason: "a reference that is not full", set: func(s *Settings) { s.ImagesFile = write("image", "istiod: x") }, want: "image of file"},
		"Version":   {reason: "a version that is not there", set: func(s *Settings) { s.ImagesFile = write("version", "versions: {\"1.30\": {istiod: a.io/x:1}}") }, want: "1.30"},
		"Patch":     {reason: "a patch version, which nothing would be looked up by", set: func(s *Settings) { s.ImagesFile = write("patch", "versions: {\"1.31.0\": {istiod: a.io/x:1}}") }, want: "1.31.0"},
		"Flag":      {reason: "the error says where the image was set", set: func(s *Settings) { s.ProxyImage = "x" }, want: "--proxy-image"},
		"Default":   {reason: "a version of Istio that is not in the binary", set: func(s *Settings) { s.IstioVersion = "1.30" }, want: "--istio-version"},
		"Resources": {reason: "no resource of Istio", set: func(s *Settings) { s.IstioResources = []string{"envoyfilters"} }, want: "--istio-resources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			tc.set(s)
			if err := s.Complete(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestSettings_IstioResources(t *testing.T) {
	for resources, valid := range map[string]bool{"": true, "all": true, "envoyfilters.networking.istio.io": true, "envoyfilters": false, "all,envoyfilters.networking.istio.io": false} {
		s := DefaultSettings()
		s.IstioResources = strings.FieldsFunc(resources, func(r rune) bool { return r == ',' })
		if err := s.Complete(func(string) string { return "" }); (err == nil) != valid {
			t.Errorf("--istio-resources=%s: %v, want it valid: %t", resources, err, valid)
		}
	}
}
