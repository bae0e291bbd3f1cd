// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersions(t *testing.T) {
	if diff := cmp.Diff([]string{"1.28", "1.29", "1.31"}, Versions()); diff != "" {
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
