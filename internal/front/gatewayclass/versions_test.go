// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/istio"
)

func TestVersions(t *testing.T) {
	if diff := cmp.Diff([]string{"1.28", "1.29", "1.31"}, istio.Minors()); diff != "" {
		t.Error(diff)
	}
}

func TestAppVersion(t *testing.T) {
	cases := map[string]struct {
		reason  string
		version string
		want    string
	}{
		"Minor":     {reason: "a minor is enough", version: "1.29", want: "1.29.1"},
		"Full":      {reason: "the full version is one too", version: "1.29.1", want: "1.29.1"},
		"WithV":     {reason: "a v may stand before it", version: "v1.31.0", want: "1.31.0"},
		"MinorV":    {reason: "also before a minor", version: "v1.28", want: "1.28.2"},
		"Spaces":    {reason: "white space around it is no part of it", version: " 1.31 ", want: "1.31.0"},
		"OtherZ":    {reason: "another patch is another version", version: "1.29.2"},
		"OtherY":    {reason: "1.30 is not in the binary", version: "1.30"},
		"Prefix":    {reason: "a prefix is no version", version: "1.3"},
		"Empty":     {reason: "nothing is no version", version: ""},
		"NoVersion": {reason: "words are no version", version: "latest"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := AppVersion(tc.version)
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			var unknown *UnknownVersionError
			if errors.As(err, &unknown) != (tc.want == "") {
				t.Errorf("%s: got error %v", tc.reason, err)
			}
		})
	}
}

// A version too far from the one that runs is held back, with the CRDs of that in place.
func TestRender_TooFar(t *testing.T) {
	cases := map[string]struct {
		reason  string
		running string
		wanted  string
		allowed string
		held    bool
		crds    string
	}{
		"First":   {reason: "nothing runs yet", wanted: "1.31", crds: "1.31.0"},
		"Two":     {reason: "two minors are what Istio supports", running: "1.29.1", wanted: "1.31", crds: "1.31.0"},
		"Three":   {reason: "three are too many", running: "1.28.2", wanted: "1.31", held: true, crds: "1.28.2"},
		"Back":    {reason: "and so they are on the way back", running: "1.31.0", wanted: "1.28", held: true, crds: "1.31.0"},
		"Allowed": {reason: "an administrator may let it pass", running: "1.28.2", wanted: "1.31", allowed: "1.31.0", crds: "1.31.0"},
		"Foreign": {reason: "an older operator has installed one that is not in this binary", running: "1.27.9", wanted: "1.29", crds: "1.29.1"},
		"NoneOne": {reason: "what is no version cannot be compared", running: "latest", wanted: "1.31", crds: "1.31.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.wanted)
			in.Running, in.AllowedVersion = tc.running, tc.allowed
			packages := mustRender(t, in)
			if held := packages[1].Blocked; (held != "") != tc.held {
				t.Errorf("%s: held for %q", tc.reason, held)
			}
			if tc.held && !strings.Contains(packages[1].Blocked, tc.running) {
				t.Errorf("%s: %q does not name what runs", tc.reason, packages[1].Blocked)
			}
			if got := findObject(t, packages[:1], "CustomResourceDefinition", "gateways.networking.istio.io").GetAnnotations()[AnnotationAppVersion]; got != tc.crds {
				t.Errorf("%s: the CRDs are of %s, want %s", tc.reason, got, tc.crds)
			}
		})
	}
}

func TestUnknownVersionError(t *testing.T) {
	cases := map[string]struct {
		reason string
		input  func(*Input)
		want   UnknownVersionError
		text   []string
	}{
		"Annotation": {
			reason: "an admin must see which class and annotation to change, and to what",
			input: func(in *Input) {
				in.Classes[0].Annotations = map[string]string{AnnotationIstioVersion: "1.30.2"}
			},
			want: UnknownVersionError{Class: "openshift-default", Version: "1.30.2", Known: []string{"1.28", "1.29", "1.31"}},
			text: []string{"GatewayClass openshift-default", "unsupported.do-not-use.openshift.io/istio-version", `"1.30.2"`, "1.28, 1.29, 1.31"},
		},
		"Default": {
			reason: "a wrong setting of the manager is no class's fault",
			input:  func(in *Input) { in.DefaultVersion = "2.0" },
			want:   UnknownVersionError{Version: "2.0", Known: []string{"1.28", "1.29", "1.31"}},
			text:   []string{"default", `"2.0"`, "1.28, 1.29, 1.31"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input("1.31")
			tc.input(&in)
			packages, err := Render(in)
			var got *UnknownVersionError
			if !errors.As(err, &got) {
				t.Fatalf("%s: got %d packages and error %v", tc.reason, len(packages), err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			for _, want := range tc.text {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not contain %q", tc.reason, err, want)
				}
			}
		})
	}
}
