// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"errors"
	"strings"
	"testing"
)

func TestExplainGo(t *testing.T) {
	goMod := []byte("require (\n\tk8s.io/kubernetes v1.36.3\n)\n")
	cases := map[string]struct {
		reason string
		output string
		want   string
	}{
		"NoNetwork": {
			reason: "the module is in front, downloads that worked are not",
			output: "go: downloading k8s.io/api v0.36.3\ngo: k8s.io/kubernetes@v1.36.3: Get \"https://proxy.example/k8s.io/kubernetes/@v/v1.36.3.zip\": dial tcp: lookup proxy.example: no such host\n",
			want:   "module k8s.io/kubernetes@v1.36.3 cannot be had: check the network and go env GOPROXY",
		},
		"OfAPackage": {
			reason: "the module is named behind the package that needs it",
			output: "k8s.io/kubernetes/cmd/kubectl imports\n\tgithub.com/a/b/v2: github.com/a/b/v2@v2.0.1+incompatible: reading https://proxy.example/b: 404 Not Found\n",
			want:   "module github.com/a/b/v2@v2.0.1+incompatible cannot be had: check the network",
		},
		"Proposal": {
			reason: "a proposal names no version; the module file does",
			output: "missing go.sum entry for module providing package k8s.io/kubernetes/cmd/kubectl; to add:\n\tgo mod download k8s.io/kubernetes\n",
			want:   "module k8s.io/kubernetes@v1.36.3 cannot be had: tools/kubernetes/go.sum does not know this version",
		},
		"DiskFull": {
			reason: "a full disk is no matter of the network, whichever module it was",
			output: "go: k8s.io/kubernetes@v1.36.3: write /cache/x: no space left on device\n",
			want:   "Free some disk space",
		},
		"Compiler": {
			reason: "a compiler's error is quoted",
			output: "# k8s.io/kubernetes/cmd/kubectl\n./main.go:1:1: expected package\n",
			want:   "exit status 1: # k8s.io/kubernetes/cmd/kubectl\n./main.go:1:1: expected package",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := explainGo(goMod, tc.output, errors.New("exit status 1"))
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
