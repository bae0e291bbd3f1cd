// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writePolicy(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPolicy asks no registry for an image that is rejected, and follows changes of the file.
func TestPolicy(t *testing.T) {
	registry := startRegistry(t, false)
	digest := registry.push(t, "team/app:v1", imageOf(t, []string{"a.txt=A"}))
	registry.requests = nil
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for _, test := range []struct{ name, text, rejects string }{
		{"Default", "default: reject", "rejects it, by its default"},
		{"Host", "default: reject\nimages: {HOST: accept}", ""},
		{"Longest", "default: accept\nimages: {HOST: accept, HOST/team: reject, HOST/te: accept}", `rejects it, by its entry "HOST/team"`},
		{"Repository", "default: reject\nimages: {HOST/team: reject, HOST/team/app/: accept}", ""},
		{"PartOfAName", "default: reject\nimages: {HOST/team/ap: accept}", "rejects it, by its default"},
		{"Broken", "default: accept\nimages: [", "reading the image policy"},
		{"Signatures", `{"default":[{"type":"insecureAcceptAnything"}],"transports":{"docker":{"HOST":[{"type":"sigstoreSigned","keyPath":"/k"}]}}}`, "it is in the format of containers-policy.json, and signatures of images are not verified"},
		{"Unknown", "default: accept\nimages: {HOST: signed}", `"signed" is for "HOST"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			writePolicy(t, path, "default: accept")
			policy, err := NewPolicy(path)
			if err != nil {
				t.Fatal(err)
			}
			client := registry.client()
			client.Policy = policy
			writePolicy(t, path, strings.ReplaceAll(test.text, "HOST", registry.host))
			_, err = client.Resolve(t.Context(), registry.host+"/team/app:v1", nil)
			_, pullErr := client.Pull(t.Context(), registry.host+"/team/app@"+digest, nil, t.TempDir(), Unpack{Limits: BundleLimits})
			for _, err := range []error{err, pullErr} {
				rejected := err != nil && strings.Contains(err.Error(), strings.ReplaceAll(test.rejects, "HOST", registry.host))
				if rejected {
					wantKind(t, err, Rejected)
				}
				if rejected != (test.rejects != "") {
					t.Errorf("got %v, want %q", err, test.rejects)
				}
			}
			if asked := len(registry.requests) > 0; asked != (test.rejects == "") {
				t.Errorf("requests %q", registry.requests)
			}
			registry.requests = nil
		})
	}
}

// TestNewPolicy refuses a file that does not say what holds for all images.
func TestNewPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := NewPolicy(path); err == nil {
		t.Error("there is no file")
	}
	for _, text := range []string{"", "images: {}", "default: signed", "default: accept\nimage: {}"} {
		writePolicy(t, path, text)
		if _, err := NewPolicy(path); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
