// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// TestClient_Credentials pulls from a registry with TLS and a password.
func TestClient_Credentials(t *testing.T) {
	registry := startRegistry(t, true)
	digest := registry.push(t, "team/app:v1", imageOf(t, []string{"a.txt=A"}))
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	for _, test := range []struct {
		name, key, secret string
		want              Kind
	}{
		{name: "None", want: Unauthorized},
		{name: "ConfigJSON", key: ".dockerconfigjson", secret: `{"auths": {"HOST": {"auth": "` + auth + `"}}}`},
		{name: "Config", key: ".dockercfg", secret: `{"https://HOST/v2/": {"username": "` + user + `", "password": "` + password + `"}}`},
		{name: "WrongPassword", key: ".dockercfg", secret: `{"HOST": {"username": "` + user + `", "password": "other"}}`, want: Unauthorized},
		{name: "OtherHost", key: ".dockercfg", secret: `{"registry.example": {"username": "` + user + `", "password": "` + password + `"}}`, want: Unauthorized},
		{name: "OtherPath", key: ".dockercfg", secret: `{"HOST/teams": {"username": "` + user + `", "password": "` + password + `"}}`, want: Unauthorized},
		{
			name: "LongestPath", key: ".dockercfg",
			secret: `{"HOST": {"username": "` + user + `", "password": "other"}, "HOST/team": {"auth": "` + auth + `"}, "HOST/tea": {"auth": "YTpi"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var credentials Credentials
			if test.key != "" {
				var err error
				credentials, err = ParseSecret(map[string][]byte{test.key: []byte(strings.ReplaceAll(test.secret, "HOST", registry.host))})
				if err != nil {
					t.Fatal(err)
				}
			}
			pinned, err := registry.client().Resolve(t.Context(), registry.host+"/team/app:v1", credentials)
			if test.want != "" {
				wantKind(t, err, test.want)
				return
			}
			if want := registry.host + "/team/app@" + digest; err != nil || pinned != want {
				t.Fatalf("got %s, %v; want %s", pinned, err, want)
			}
			folder := t.TempDir()
			if _, err := registry.client().Pull(t.Context(), pinned, credentials, folder, Unpack{Limits: BundleLimits}); err != nil {
				t.Fatal(err)
			}
			wantFile(t, folder, "a.txt", "A")
		})
	}
}

// TestClient_Resolve asks with one HEAD for a tag, and never for a digest.
func TestClient_Resolve(t *testing.T) {
	registry := startRegistry(t, false)
	first := registry.push(t, "app:v1", imageOf(t, []string{"a.txt=A"}))
	registry.requests = nil
	pinned, err := registry.client().Resolve(t.Context(), registry.host+"/app:v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"GET /v2/", "HEAD /v2/app/manifests/v1"}; !slices.Equal(registry.requests, want) {
		t.Errorf("requests %q, want %q", registry.requests, want)
	}
	// The tag moves before the pull, which gets what was resolved.
	if second := registry.push(t, "app:v1", imageOf(t, []string{"a.txt=B"})); second == first {
		t.Fatal("both images have one digest")
	}
	folder := t.TempDir()
	image, err := registry.client().Pull(t.Context(), pinned, nil, folder, Unpack{Limits: BundleLimits})
	if err != nil || image.Manifest != first {
		t.Fatalf("got %+v, %v", image, err)
	}
	wantFile(t, folder, "a.txt", "A")
	registry.requests = nil
	if again, err := registry.client().Resolve(t.Context(), pinned, nil); err != nil || again != pinned || len(registry.requests) > 0 {
		t.Errorf("got %s, %v with %q for a reference by digest", again, err, registry.requests)
	}
}

// TestClient_Failures tells failures apart that a registry without faults leads to.
func TestClient_Failures(t *testing.T) {
	registry := startRegistry(t, false)
	digest := registry.push(t, "app:v1", imageOf(t, []string{"a.txt=A"}))
	other := &Client{Transport: NewTransport(TransportConfig{CADir: t.TempDir()})}
	for _, test := range []struct {
		name   string
		client *Client
		image  string
		want   Kind
	}{
		{"NoTag", registry.client(), registry.host + "/app:v2", NotFound},
		{"NoRepository", registry.client(), registry.host + "/none@" + digest, NotFound},
		{"OtherCA", other, registry.host + "/app:v1", Certificate},
		{"NoServer", registry.client(), "127.0.0.1:1/app:v1", Unreachable},
		{"NoSuchHost", registry.client(), "registry.invalid/app:v1", Unreachable},
		{"ShortName", registry.client(), "app:v1", Invalid},
		{"NoTagOrDigest", registry.client(), registry.host + "/app", Invalid},
		{"UpperCase", registry.client(), registry.host + "/App:v1", Invalid},
		{"Nothing", registry.client(), "", Invalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.client.Resolve(t.Context(), test.image, nil)
			if test.name == "NoRepository" {
				_, err = test.client.Pull(t.Context(), test.image, nil, t.TempDir(), Unpack{Limits: BundleLimits})
			}
			wantKind(t, err, test.want)
			if err == nil {
				return
			}
			again := ""
			if _, err2 := test.client.Resolve(t.Context(), test.image, nil); err2 != nil {
				again = err2.Error()
			}
			if test.name != "NoRepository" && again != err.Error() {
				t.Errorf("the text changes from try to try: %q and %q", err, again)
			}
		})
	}
}

// TestClient_CA trusts a CA as soon as its file is there.
func TestClient_CA(t *testing.T) {
	registry := startRegistry(t, false)
	registry.push(t, "app:v1", imageOf(t, []string{"a.txt=A"}))
	folder := t.TempDir()
	client := &Client{Transport: NewTransport(TransportConfig{CADir: folder})}
	_, err := client.Resolve(t.Context(), registry.host+"/app:v1", nil)
	wantKind(t, err, Certificate)
	// As a volume of a ConfigMap has it.
	if err := os.Symlink(filepath.Join(registry.caDir, "ca.crt"), filepath.Join(folder, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resolve(t.Context(), registry.host+"/app:v1", nil); err != nil {
		t.Error(err)
	}
}

// TestClient_Platform chooses among the images of an index.
func TestClient_Platform(t *testing.T) {
	registry := startRegistry(t, false)
	for _, test := range []struct {
		name      string
		platforms []string
		want      string
	}{
		{"This", []string{"s390x", runtime.GOARCH, "ppc64le"}, runtime.GOARCH},
		{"Only", []string{"s390x"}, "s390x"},
		{"Amd64", []string{"s390x", "amd64"}, "amd64"},
		{"None", []string{"s390x", "ppc64le"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
			for _, platform := range test.platforms {
				index = mutate.AppendManifests(index, mutate.IndexAddendum{
					Add: imageOf(t, []string{"platform=" + platform}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: platform}},
				})
			}
			digest := registry.push(t, "index:v1", index)
			folder := t.TempDir()
			image, err := registry.client().Pull(t.Context(), registry.host+"/index@"+digest, nil, folder, Unpack{Limits: BundleLimits})
			if test.want == "" {
				wantKind(t, err, Refused)
				return
			}
			if err != nil || image.Manifest == digest {
				t.Fatalf("got %+v, %v", image, err)
			}
			wantFile(t, folder, "platform", test.want)
		})
	}
}

func wantKind(t *testing.T, err error, want Kind) {
	t.Helper()
	failure := &Error{}
	if !errors.As(err, &failure) || failure.Kind != want {
		t.Errorf("got %v of the kind %q, want the kind %q", err, failure.Kind, want)
	}
}

func wantFile(t *testing.T, folder, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
		t.Errorf("%s is %q, %v; want %q", name, got, err, want)
	}
}

// TestParseSecret refuses Secrets without credentials, in words that have nothing of their content.
func TestParseSecret(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		"NoKey":   {"password": []byte("hidden")},
		"NoJSON":  {".dockerconfigjson": []byte("hidden")},
		"NoAuth":  {".dockercfg": []byte(`{"h": {"auth": "hidden"}}`)},
		"NoColon": {".dockercfg": []byte(`{"h": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("hidden")) + `"}}`)},
	} {
		if credentials, err := ParseSecret(data); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, %v", name, credentials, err)
		}
	}
}

// TestCredentials_Hosts matches hosts label by label, and Docker Hub by all of its names.
func TestCredentials_Hosts(t *testing.T) {
	for _, test := range []struct {
		pattern, host string
		want          bool
	}{
		{"registry.example", "registry.example", true},
		{"*.example", "registry.example", true},
		{"*.example", "a.registry.example", false},
		{"registry.example", "registry.example:5000", false},
		{"registry.example:5000", "registry.example:5000", true},
	} {
		if got := matchesHost(test.pattern, test.host); got != test.want {
			t.Errorf("%s for %s: %v", test.pattern, test.host, got)
		}
	}
	for _, place := range []string{"docker.io", "https://index.docker.io/v1/"} {
		if host, path := placeOf(place); host != "index.docker.io" || path != "" {
			t.Errorf("%s is %s and %s", place, host, path)
		}
	}
}
