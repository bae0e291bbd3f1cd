// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"strings"
	"testing"
)

func TestSettings_AgentImage(t *testing.T) {
	both := map[string]string{envAgentImage: "env.example.com/csr@sha256:" + strings.Repeat("0", 64), envAgentVersion: "0.16.0"}
	for name, tc := range map[string]struct {
		reason         string
		image, version string
		env            map[string]string
		want           Image
	}{
		"Default":             {reason: "nothing is said", want: Image{Reference: DefaultImage}},
		"Environment":         {reason: "the variables of the operator before", env: both, want: Image{Reference: both[envAgentImage], Version: "0.16.0"}},
		"Flag":                {reason: "a version in the environment is not that of the flag's image", image: "a.io/csr:v1", env: both, want: Image{Reference: "a.io/csr:v1"}},
		"FlagForTheVersion":   {reason: "a flag wins", version: "v9", env: both, want: Image{Reference: both[envAgentImage], Version: "v9"}},
		"VersionOfTheDefault": {reason: "the label can be what the operator before has put there", env: map[string]string{envAgentVersion: "0.14.2"}, want: Image{Reference: DefaultImage, Version: "0.14.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			s.AgentImage, s.AgentVersion = tc.image, tc.version
			for range 2 { // completing them once more changes nothing
				if err := s.Complete(func(name string) string { return tc.env[name] }); err != nil || s.image != tc.want {
					t.Errorf("%s: %v, want %v (%v)", tc.reason, s.image, tc.want, err)
				}
			}
		})
	}
	bad := DefaultSettings()
	bad.AgentImage = "no image"
	if err := bad.Complete(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "--istio-csr-image") {
		t.Errorf("an image that is none gives %v", err)
	}
}

// Without a namespace no Secret of a ClusterIssuer would be found, and each IstioCSR would report
// an error of the API server.
func TestSettings_ClusterResourceNamespace(t *testing.T) {
	for namespace, valid := range map[string]bool{"cert-manager": true, "": false, "a/b": false, "A": false} {
		s := DefaultSettings()
		s.ClusterResourceNamespace = namespace
		if err := s.Complete(func(string) string { return "" }); (err == nil) != valid {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}
