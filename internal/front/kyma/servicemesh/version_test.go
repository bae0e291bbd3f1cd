// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/istio"
)

func TestGate(t *testing.T) {
	cases := map[string]struct {
		reason                     string
		installed, target, allowed string
		refused                    string
		fails                      bool
	}{
		"First":          {reason: "nothing is installed", target: "1.31.0"},
		"Same":           {reason: "nothing changes", installed: "1.31.0", target: "1.31.0"},
		"Flavour":        {reason: "the flavour does not count", installed: "1.31.0-distroless", target: "1.31.0-rc.1"},
		"Patch":          {reason: "a patch up", installed: "1.31.0", target: "1.31.4"},
		"Minor":          {reason: "one minor up, whatever the patch", installed: "1.2.3", target: "1.3.0"},
		"TwoMinors":      {reason: "one minor lies between", installed: "1.2.3", target: "1.4.0", refused: "This manager does not have Istio 1.3"},
		"OwnStep":        {reason: "the one between is in the manager", installed: "1.28.2", target: "1.31.0", refused: "--kyma-istio-version 1.29"},
		"NoStep":         {reason: "the one between is not", installed: "1.29.1", target: "1.31.0", refused: "does not have Istio 1.30"},
		"Major":          {reason: "another major", installed: "1.2.3", target: "2.0.0", refused: "major"},
		"MajorDown":      {reason: "another major, back", installed: "2.0.0", target: "1.9.0", refused: "major"},
		"PatchDown":      {reason: "a patch back", installed: "1.31.4", target: "1.31.0", refused: "downgrade"},
		"MinorDown":      {reason: "a minor back", installed: "1.31.0", target: "1.30.9", refused: "downgrade"},
		"Allowed":        {reason: "a person lets it through", installed: "1.28.2", target: "1.31.0-distroless", allowed: "1.31.0"},
		"OtherAllowed":   {reason: "what is let through is another version", installed: "1.28.2", target: "1.31.0", allowed: "1.30.0", refused: "more than one minor"},
		"NoVersion":      {reason: "the installed tag cannot be read", installed: "latest", target: "1.31.0", fails: true},
		"NoTarget":       {reason: "the own tag cannot be read", installed: "1.31.0", target: "latest", fails: true},
		"LongerThanThat": {reason: "a number that is no version", installed: "1.31.0.4", target: "1.31.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Gate(tc.installed, tc.target, tc.allowed)
			var gate *GateError
			switch {
			case errors.As(err, &gate) != (tc.refused != ""), err != nil && tc.refused == "" && !tc.fails, err == nil && tc.fails:
				t.Fatalf("%s: got %v", tc.reason, err)
			case gate == nil:
				return
			}
			for _, want := range []string{gate.Installed, gate.Target, tc.refused, v1alpha2.AnnotationAllowVersion} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %s", err, want)
				}
			}
		})
	}
}

func TestNewer(t *testing.T) {
	cases := map[string][3]string{
		"None": {"", "", ""}, "First": {"1.29.1", "", "1.29.1"}, "Second": {"", "1.29.1", "1.29.1"}, "Garbage": {"1.29.1", "x", "1.29.1"},
		"Minor": {"1.9.9", "1.10.0", "1.10.0"}, "Patch": {"1.29.10", "1.29.9", "1.29.10"}, "Major": {"2.0.0", "1.31.0", "2.0.0"}, "BothGarbage": {"y", "x", ""},
	}
	for name, c := range cases {
		if got := istio.Newer(c[0], c[1]); got != c[2] {
			t.Errorf("%s: got %q, want %q", name, got, c[2])
		}
	}
}

func TestLastApplied(t *testing.T) {
	istio := mesh(t, "config: {numTrustedProxies: 2, authorizers: [{name: a, port: 1, timeout: 500ms}]}\ncompatibilityMode: true")
	want := LastApplied{IstioSpec: istio.Spec, IstioTag: "1.31.0-distroless"}
	text := want.String()
	if !strings.Contains(text, `"IstioTag":"1.31.0-distroless"`) || !strings.HasPrefix(text, `{"config":{"numTrustedProxies":2`) {
		t.Errorf("got %s", text)
	}
	got, err := ParseLastApplied(map[string]string{v1alpha2.AnnotationLastApplied: text})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := ParseLastApplied(nil); err != nil || got.IstioTag != "" {
		t.Errorf("without the annotation: got %v, %v", got, err)
	}
	if _, err := ParseLastApplied(map[string]string{v1alpha2.AnnotationLastApplied: "{"}); err == nil {
		t.Error("a malformed annotation is no error")
	}
}
