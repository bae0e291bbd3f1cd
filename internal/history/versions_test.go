// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"

	"github.com/strata-run/strata/api/v1alpha1"
)

func TestTooFarBack(t *testing.T) {
	zero, one := int32(0), int32(1)
	cases := map[string]struct {
		reason            string
		from, to, allowed string
		minors            *int32
		refused           bool
	}{
		"Unbounded":  {reason: "nothing bounds it", from: "1.31.0", to: "1.2.0"},
		"OneMinor":   {reason: "one minor version is allowed", from: "1.31.0-distroless", to: "1.30.4-distroless", minors: &one},
		"Patch":      {reason: "patches do not count", from: "1.31.4", to: "1.31.0", minors: &zero},
		"TwoMinors":  {reason: "two are not", from: "1.31.0", to: "1.29.1", minors: &one, refused: true},
		"NoMinor":    {reason: "none is allowed", from: "1.31.0", to: "1.30.0", minors: &zero, refused: true},
		"Up":         {reason: "a rollback may go up", from: "1.29.0", to: "1.31.0", minors: &one},
		"Major":      {reason: "another major version", from: "2.0.0", to: "1.31.0", minors: &one, refused: true},
		"Allowed":    {reason: "a person lets it through", from: "1.31.0", to: "1.28.2-distroless", allowed: "1.28.2-distroless", minors: &one},
		"NoVersion":  {reason: "what is no version cannot be compared", from: "1.31.0", to: "latest", minors: &one},
		"OnlyMinor":  {reason: "a version without patch is one", from: "v1.31", to: "v1.29", minors: &one, refused: true},
		"NotAMinor":  {reason: "digits go on", from: "1.310000000", to: "1.2", minors: &one},
		"NoVersions": {reason: "nothing is reported", minors: &one},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 7, Origin: &v1alpha1.Origin{AppVersion: tc.from, RollbackMinors: tc.minors}}}
			to := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 3, Origin: &v1alpha1.Origin{AppVersion: tc.to}}}
			got := tooFarBack(from, to, tc.allowed)
			if (got != "") != tc.refused {
				t.Fatalf("%s: got %q", tc.reason, got)
			}
			if tc.refused && (!strings.Contains(got, tc.from) || !strings.Contains(got, tc.to) || !strings.Contains(got, "revision 3") || !strings.Contains(got, v1alpha1.AnnotationAllowVersion)) {
				t.Errorf("%s: %q does not name both versions and the remedy", tc.reason, got)
			}
		})
	}
	if got := tooFarBack(&v1alpha1.Revision{}, &v1alpha1.Revision{}, ""); got != "" {
		t.Errorf("without origins: got %q", got)
	}
}
