// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/strata-run/strata/internal/front/istiocsr"
)

func TestOptions_AgentImage(t *testing.T) {
	both := map[string]string{envAgentImage: "env.example.com/csr@sha256:" + strings.Repeat("0", 64), envAgentVersion: "0.16.0"}
	for name, tc := range map[string]struct {
		reason  string
		options Options
		env     map[string]string
		want    istiocsr.Image
	}{
		"Default":             {reason: "nothing is said", want: istiocsr.Image{Reference: istiocsr.DefaultImage}},
		"Environment":         {reason: "the variables of the operator before", env: both, want: istiocsr.Image{Reference: both[envAgentImage], Version: "0.16.0"}},
		"Flag":                {reason: "a version in the environment is not that of the flag's image", options: Options{AgentImage: "a.io/csr:v1"}, env: both, want: istiocsr.Image{Reference: "a.io/csr:v1"}},
		"FlagForTheVersion":   {reason: "a flag wins", options: Options{AgentVersion: "v9"}, env: both, want: istiocsr.Image{Reference: both[envAgentImage], Version: "v9"}},
		"VersionOfTheDefault": {reason: "the label can be what the operator before has put there", env: map[string]string{envAgentVersion: "0.14.2"}, want: istiocsr.Image{Reference: istiocsr.DefaultImage, Version: "0.14.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.readAgentImage(func(name string) string { return tc.env[name] })
			if got := tc.options.agentImage(); got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	bad := DefaultOptions()
	bad.AgentImage = "no image"
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "--istio-csr-image") {
		t.Errorf("an image that is none gives %v", err)
	}
}
