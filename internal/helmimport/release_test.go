// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type fields = map[string]any

// packed is a text as Helm stores it.
func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

// releaseJSON is a release as Helm 3 writes it; change may be nil.
func releaseJSON(t *testing.T, version int, status, manifest string, change func(fields)) []byte {
	t.Helper()
	release := fields{
		"name": "web", "namespace": "shop", "version": version, "manifest": manifest,
		"info":   fields{"first_deployed": "2026-01-02T03:04:05.678+01:00", "last_deployed": "2026-02-02T03:04:05.678+01:00", "deleted": "", "status": status},
		"chart":  fields{"metadata": fields{"name": "web", "version": "1.2.3", "appVersion": "2.0"}, "templates": []any{}, "values": fields{}, "files": []any{}},
		"config": fields{"password": "topsecret"},
	}
	if change != nil {
		change(release)
	}
	text, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func secretWith(data []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sh.helm.release.v1.web.v2"},
		Type:       releaseType, Data: map[string][]byte{secretKey: data},
	}
}

func TestDecode(t *testing.T) {
	want := Release{
		Namespace: "shop", Name: "web", Version: 2, Status: "deployed", Deployed: time.Date(2026, 2, 2, 2, 4, 5, 678e6, time.UTC),
		Chart: "web", ChartVersion: "1.2.3", AppVersion: "2.0", Manifest: "---\n",
	}
	cases := map[string]struct {
		reason string
		change func(fields)
		plain  bool
		want   func(*Release)
	}{
		"Helm3": {reason: "Helm 3 stores base64 of gzip of JSON"},
		"Old":   {reason: "a release from before compression is not gzip'd", plain: true},
		"Helm4": {reason: "what Helm 4 adds is ignored", change: func(r fields) { r["apply_method"] = "ssa" }},
		"NoTime": {
			reason: "Helm writes an empty text for a time that is not set",
			change: func(r fields) { r["info"].(fields)["last_deployed"] = "" },
			want:   func(r *Release) { r.Deployed = time.Time{} },
		},
		"Hooks": {
			reason: "hooks are known with their events",
			change: func(r fields) {
				r["hooks"] = []any{fields{"kind": "Job", "name": "migrate", "events": []any{"pre-upgrade", "post-install"}, "manifest": "x", "last_run": fields{"phase": ""}}}
			},
			want: func(r *Release) {
				r.Hooks = []Hook{{Kind: "Job", Name: "migrate", Events: []string{"post-install", "pre-upgrade"}}}
			},
		},
		"CRDs": {
			reason: "of the chart's files only the manifests in crds/ count",
			change: func(r fields) {
				r["chart"].(fields)["files"] = []any{
					fields{"name": "crds/b.yaml", "data": []byte("b")}, fields{"name": "README.md", "data": []byte("x")},
					fields{"name": "crds/a.json", "data": []byte("a")}, fields{"name": "crds/README.md", "data": []byte("x")},
				}
			},
			want: func(r *Release) { r.CRDs = []File{{"crds/a.json", []byte("a")}, {"crds/b.yaml", []byte("b")}} },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := releaseJSON(t, 2, "deployed", "---\n", tc.change)
			data := packed(t, text)
			if tc.plain {
				data = []byte(base64.StdEncoding.EncodeToString(text))
			}
			got, err := decode(secretWith(data))
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if tc.want != nil {
				tc.want(&want)
			}
			got.Deployed = got.Deployed.UTC()
			if want.Deployed.IsZero() {
				got.Deployed = time.Time{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecode_Errors(t *testing.T) {
	whole := packed(t, releaseJSON(t, 2, "deployed", "", nil))
	cases := map[string]struct {
		reason string
		secret func(*corev1.Secret)
		want   string
	}{
		"Type":    {reason: "any Secret may have such a name", secret: func(s *corev1.Secret) { s.Type = "Opaque" }, want: "its type is"},
		"NoData":  {reason: "a Secret may have lost its data", secret: func(s *corev1.Secret) { s.Data = nil }, want: "data.release is missing"},
		"Base64":  {reason: "what is no base64", secret: func(s *corev1.Secret) { s.Data[secretKey] = []byte("%topsecret%") }, want: "base64"},
		"Cut":     {reason: "what was cut off", secret: func(s *corev1.Secret) { s.Data[secretKey] = whole[:len(whole)/8*4] }, want: "inflating"},
		"JSON":    {reason: "what is no JSON", secret: func(s *corev1.Secret) { s.Data[secretKey] = packed(t, []byte("topsecret")) }, want: "release as JSON"},
		"Other":   {reason: "JSON of something else", secret: func(s *corev1.Secret) { s.Data[secretKey] = packed(t, []byte("{}")) }, want: "lacks name"},
		"WrongAs": {reason: "a field of another type", secret: func(s *corev1.Secret) { s.Data[secretKey] = packed(t, []byte(`{"name":4711}`)) }, want: "release as JSON"},
		"Bomb": {
			reason: "a small Secret must not take all the memory",
			secret: func(s *corev1.Secret) { s.Data[secretKey] = packed(t, make([]byte, inflateLimit+1)) }, want: "more than 33554432 bytes",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			secret := secretWith(append([]byte{}, whole...))
			tc.secret(secret)
			_, err := decode(secret)
			if err == nil {
				t.Fatalf("%s: want an error", tc.reason)
			}
			for _, want := range []string{"Secret shop/sh.helm.release.v1.web.v2", tc.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q does not contain %q", tc.reason, err, want)
				}
			}
			for _, secret := range []string{"topsecret", "4711"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("error %q quotes what the Secret holds", err)
				}
			}
		})
	}
}
